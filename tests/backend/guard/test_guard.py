"""Launch contracts on real arguments: what is admitted, what is refused, and how a refusal reads."""

from __future__ import annotations

import random
import sys
import tomllib
from math import prod

import numpy as np
import pytest
from tests.corpus.compiled import units
from tests.corpus.launches import drawn_launches

from tileverify.backend.guard import ArrayValue, Guard, LaunchRefused, compile_guard
from tileverify.backend.guard.arguments import Value, array_value
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.launch import ArrayArgument, ConcreteLaunch, ListArgument, ScalarArgument
from tileverify.contract.spec import build_launch
from tileverify.contract.spec_files import RawLaunch
from tileverify.corpus import corpus_launches
from tileverify.hook.described_launch import _tensor_of, read_element
from tileverify.results import Verdict
from tileverify.system.errors import UsageError


def guard_of(args: str, *, rest: str = "", clauses: tuple[str, ...] = (), written: tuple[str, ...] = ("out",)) -> Guard:
    fields = tomllib.loads(f'kernel = "k"\n{rest}\nargs = {{ {args} }}\n')
    spec = build_launch(RawLaunch(fields, "k.tileverify.toml", 1, 0), "0", None)
    return compile_guard(spec, clauses, frozenset(written))


def array(address: int, *shape: int, strides: tuple[int, ...] | None = None, dtype: str = "f32") -> ArrayValue:
    if strides is None:
        strides = tuple(prod(shape[dim + 1 :]) for dim in range(len(shape)))
    return ArrayValue(address, shape, strides, dtype)


X, OUT = array(0x1000, 100), array(0x2000, 100)


def refused(guard: Guard, arguments: list[Value], grid: tuple[int, int, int]) -> LaunchRefused:
    with pytest.raises(LaunchRefused) as caught:
        guard.check(arguments, grid)
    return caught.value


# -------------------------------------------------------------------------------------------- one kernel
ADD = guard_of('x = "f32[N]", out = "f32[N]"', rest='grid = ["cdiv(N, 32)"]')


def test_a_launch_of_the_contract_is_admitted() -> None:
    ADD.check([X, OUT], (4, 1, 1))
    ADD.check([array(0x1000, 1), array(0x2000, 1)], (1, 1, 1))


@pytest.mark.parametrize(
    ("x", "out", "grid", "code", "said"),
    [
        (X, OUT, (5, 1, 1), "TV502", "it is not so that grid.x is cdiv(N, 32) for grid.x = 5, N = 100"),
        (X, OUT, (4, 2, 1), "TV502", "grid.y is 1"),
        (X, array(0x2000, 99), (4, 1, 1), "TV502", "out.shape[0] is N for out.shape[0] = 99, N = 100"),
        (X, array(0x2000, 100, strides=(2,)), (4, 1, 1), "TV502", "`out` is not contiguous"),
        (X, array(0x2002, 100), (4, 1, 1), "TV502", "`out` is not aligned to its elements"),
        (X, array(0x2000, 100, dtype="f16"), (4, 1, 1), "TV502", "`out` has elements of f16, the contract says f32"),
        (X, array(0x2000, 10, 10), (4, 1, 1), "TV502", "`out` has rank 2, the contract says 1"),
        (X, 5, (4, 1, 1), "TV502", "`out` is 5, the contract says an array"),
        (X, array(0x1000, 100), (4, 1, 1), "TV501", "`x` and `out` overlap in memory"),
        (X, array(0x1000 + 396, 100), (4, 1, 1), "TV501", "`x` and `out` overlap in memory"),
        (X, array(0x1000 - 396, 100), (4, 1, 1), "TV501", "`x` and `out` overlap in memory"),
    ],
)
def test_what_is_outside_the_contract_is_refused(
    x: ArrayValue, out: Value, grid: tuple[int, int, int], code: str, said: str
) -> None:
    error = refused(ADD, [x, out], grid)
    assert error.code == code
    assert said in error.message
    assert error.message.startswith("k was not launched: ")
    assert error.message.endswith(f"({code})")


def test_neighbours_do_not_overlap() -> None:
    ADD.check([X, array(0x1000 + 400, 100)], (4, 1, 1))
    ADD.check([X, array(0x1000 - 400, 100)], (4, 1, 1))


def test_an_empty_array_overlaps_nothing() -> None:
    guard = guard_of('x = "f32[N]", y = "f32[M]", out = "f32[N]"')
    guard.check([X, array(0x1000, 0), OUT], (1, 1, 1))


def test_the_number_of_arguments_is_the_contracts() -> None:
    assert "the contract has 2 arguments, 1 were given" in refused(ADD, [X], (4, 1, 1)).message


# ------------------------------------------------------------------------------------------------ names
def test_a_name_in_an_expression_is_solved_for() -> None:
    guard = guard_of('x = "f32[2 * K + 4]", out = "f32[K]"', rest='requires = ["K >= 3"]')
    guard.check([array(0, 10), array(0x2000, 3)], (1, 1, 1))
    assert "K" in refused(guard, [array(0, 10), array(0x2000, 4)], (1, 1, 1)).message
    assert "'K >= 3' does not hold for K = 2" in refused(guard, [array(0, 8), array(0x2000, 2)], (1, 1, 1)).message


def test_an_expression_that_has_no_whole_solution_is_refused() -> None:
    guard = guard_of('x = "f32[2 * K]", n = "i32 = K"', written=())
    guard.check([array(0, 10), 5], (1, 1, 1))
    assert "x.shape[0] is 2 * K" in refused(guard, [array(0, 11), 5], (1, 1, 1)).message


def test_a_name_of_the_grid_alone_is_read_off_the_grid() -> None:
    guard = guard_of('out = "f32[B * 4]"', rest='grid = ["B"]')
    guard.check([array(0, 12)], (3, 1, 1))
    assert refused(guard, [array(0, 12)], (4, 1, 1)).code == "TV502"


def test_scalars_are_tied_and_bounded() -> None:
    guard = guard_of('out = "f32[N]", n = "i32 = N", k = "u8", alpha = "f32"', rest='requires = ["k < N"]')
    guard.check([OUT, 100, 7, 0.5], (1, 1, 1))
    assert "n is N" in refused(guard, [OUT, 99, 7, 0.5], (1, 1, 1)).message
    assert "`k` does not fit u8" in refused(guard, [OUT, 100, 256, 0.5], (1, 1, 1)).message
    assert "`n` is 1.5, the contract says i32" in refused(guard, [OUT, 1.5, 7, 0.5], (1, 1, 1)).message


def test_a_name_that_no_launch_shows_is_an_error_of_the_contract() -> None:
    with pytest.raises(UsageError, match="speaks of 'Q', which no launch shows"):
        guard_of('out = "f32[N]"', clauses=("Q >= 1",))


# ---------------------------------------------------------------------------------------------- layouts
def test_strides_of_the_contract_are_checked() -> None:
    guard = guard_of('out = "f32[M, N; strides=(ld, 1)]"', rest='requires = ["ld % 4 == 0"]')
    guard.check([array(0, 3, 5, strides=(8, 1))], (1, 1, 1))
    assert "'ld % 4 == 0'" in refused(guard, [array(0, 3, 5, strides=(9, 1))], (1, 1, 1)).message
    assert "elements of `out` share" in refused(guard, [array(0, 3, 5, strides=(4, 1))], (1, 1, 1)).message
    assert "strides[1] is 1" in refused(guard, [array(0, 3, 5, strides=(12, 2))], (1, 1, 1)).message


def test_the_stride_of_one_element_means_nothing() -> None:
    guard = guard_of('out = "f32[M, N]"')
    guard.check([array(0, 1, 5, strides=(77, 1))], (1, 1, 1))
    guard.check([array(0, 3, 1, strides=(1, 99))], (1, 1, 1))
    assert refused(guard, [array(0, 2, 5, strides=(77, 1))], (1, 1, 1)).code == "TV502"


def test_arrays_that_may_overlap_do() -> None:
    args = 'x = "f32[N]", out = "f32[N]"'
    guard_of(args, rest='alias = [["x", "out"]]').check([X, X], (1, 1, 1))
    guard_of(args, rest='overlap = [["x", "out"]]').check([X, X], (1, 1, 1))
    same = guard_of(args, rest='requires = ["x is out"]')
    same.check([X, X], (1, 1, 1))
    assert "`x` is not the same array as `out`" in refused(same, [X, OUT], (1, 1, 1)).message


def test_arrays_that_nobody_writes_may_overlap() -> None:
    guard_of('x = "f32[N]", y = "f32[N]", out = "f32[N]"').check([X, X, OUT], (1, 1, 1))


# ---------------------------------------------------------------------------------------------- clauses
def test_clauses_of_the_proof_are_checked() -> None:
    guard = guard_of('x = "f32[N]", out = "f32[N]"', clauses=("grid.x <= cdiv(N, 32)", "x.address % 16 == 0"))
    guard.check([X, OUT], (4, 1, 1))
    error = refused(guard, [X, OUT], (5, 1, 1))
    assert "'grid.x <= cdiv(N, 32)' does not hold for N = 100, grid.x = 5" in error.message.replace(
        "grid.x = 5, N = 100", "N = 100, grid.x = 5"
    )
    assert "'x.address % 16 == 0'" in refused(guard, [array(0x1004, 100), OUT], (4, 1, 1)).message


def test_a_clause_that_divides_by_zero_does_not_hold() -> None:
    guard = guard_of('out = "f32[N]", n = "i32"', clauses=("N // n >= 1",))
    assert "divides by zero" in refused(guard, [OUT, 0], (1, 1, 1)).message


def test_the_covering_grid_is_the_contracts() -> None:
    assert ADD.covering is not None
    assert ADD.covering(*ADD.numbers([X, OUT])) == (4, 1, 1)
    clauses = ("grid.x <= cdiv(N, 32)", "grid.y == 1", "grid.z == 1")
    found = guard_of('x = "f32[N]", out = "f32[N]"', clauses=clauses)
    assert found.covering is not None
    assert found.covering(*found.numbers([X, OUT])) == (4, 1, 1)
    assert guard_of('x = "f32[N]", out = "f32[N]"').covering is None, "any grid will do, so none is the one"


def test_no_text_of_a_contract_is_executed() -> None:
    with pytest.raises(UsageError):
        guard_of('out = "f32[N]"', clauses=("__import__('os').system('true') == 0",))


# ----------------------------------------------------------------------------------------- whole corpus
PROVED = [label for label in corpus_launches() if label.verdict is Verdict.PROVED]


def arguments_of(guard: Guard, launch: ConcreteLaunch) -> list[Value]:
    """A concrete launch at addresses of its own; arrays of one allocation lie as they do there."""
    places: dict[str, int] = {}
    values: list[Value] = []
    for each in guard.order:
        if isinstance(each, ScalarArgument):
            number = (
                launch.floats.get(each.name, 0.0)
                if ELEMENT_TYPES[each.dtype].kind == "f"
                else launch.scalars[each.name]
            )
            values.append(number)
            continue
        concrete = launch.arrays[each.name]
        base = places.setdefault(concrete.allocation or each.name, (1 << 20) * (1 + len(places)) * 64)
        values.append(ArrayValue(base + concrete.byte_offset, concrete.shape, concrete.strides, each.dtype))
    return values


@pytest.mark.parametrize("label", PROVED, ids=lambda label: label.id)
def test_launches_of_the_corpus_are_admitted_and_others_refused(label: object) -> None:
    unit = units()[str(label.file), label.kernel, label.launch]  # type: ignore[attr-defined]
    if any(isinstance(argument, ListArgument) for argument in unit.launch.arguments):
        with pytest.raises(UsageError, match="list"):
            compile_guard(unit.launch, (), frozenset())
        return
    written = frozenset(array.name for array in unit.launch.arrays())
    guard = compile_guard(unit.launch, (), written)
    draw = random.Random(3)
    for launch in drawn_launches(unit.launch, 3, seed=2):
        arguments = arguments_of(guard, launch)
        guard.check(arguments, launch.grid)
        place = draw.choice([i for i, each in enumerate(guard.order) if isinstance(each, ArrayArgument)])
        value = arguments[place]
        assert isinstance(value, ArrayValue)
        arguments[place] = value._replace(dtype="f64" if value.dtype != "f64" else "f32")
        assert refused(guard, arguments, launch.grid).code == "TV502"


class Exported:
    """An array of another package, which says what it is."""

    def __init__(self, typestr: str) -> None:
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": typestr, "data": (0x1000, False), "version": 3}


def test_bytes_in_an_order_that_is_not_the_machines_are_no_numbers_of_a_kernel() -> None:
    own, foreign = ("<", ">") if sys.byteorder == "little" else (">", "<")
    assert array_value(Exported(f"{own}i4")) == ArrayValue(0x1000, (4,), (1,), "i32")
    for held in (Exported(f"{foreign}i4"), np.zeros(4, f"{foreign}i4")):
        with pytest.raises(UsageError, match="which no kernel takes"):
            array_value(held)


def test_vectors_as_elements_are_no_elements_of_a_kernel() -> None:
    capsule = np.zeros(4, np.float32).__dlpack__()
    assert read_element(capsule) == (2, 32)
    _tensor_of(capsule).lanes = 4
    assert read_element(capsule) == (2, 128)


def test_a_limit_costs_a_comparison() -> None:
    """Numbers of the contract are worked out once: the guard runs before every launch."""
    rest, args = 'grid = ["cdiv(N, 64)"]', 'x = "f32[N]", out = "f32[N]"'
    limited = guard_of(args, rest=rest, clauses=("N * 4 < 2 ** 31 - 2 ** 5 * 1",))
    assert "power" not in limited.source
    limited.check([X, OUT], (2, 1, 1))
    large = array(1 << 40, 1 << 29), array(1 << 50, 1 << 29)
    assert "'N * 4 < 2 ** 31 - 2 ** 5 * 1' does not hold" in refused(limited, list(large), (1 << 23, 1, 1)).message
    guard_of(args, rest=rest).check(list(large), (1 << 23, 1, 1))
