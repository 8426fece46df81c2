"""One kernel beside another: whose contract allows what, and which arguments are whose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileverify.equality.deciding import Decision, ExactAnswer
from tileverify.equality.points import Options
from tileverify.equality.targets import EqualOptions, judge
from tileverify.system.errors import UsageError

ORDER = Path(__file__).parent / "order_kernels.py"
KERNELS = '''
import cuda.tile as ct
import tileverify

VECTOR = {"x": "f32[N]", "out": "f32[N]"}


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 32)"])
@ct.kernel
def plain(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (32,)) * 3)


@tileverify.launch(args={"source": "f32[N]", "target": "f32[N]"}, grid=["cdiv(N, 64)"])
@ct.kernel
def by_place(source, target):
    i = ct.bid(0)
    ct.store(target, (i,), ct.load(source, (i,), (64,)) * 3)


@tileverify.launch(args=VECTOR, grid=["N // 16"], requires=["N % 16 == 0"])
@ct.kernel
def whole_tiles(x, out):
    """Of other sizes it leaves the tail out, which its contract rules out."""
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (16,)) * 3)


@tileverify.launch(args={"x": "f32[2 * N]", "out": "f32[N]"}, grid=["cdiv(N, 32)"])
@ct.kernel
def longer(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (32,)) * 3)


@tileverify.launch(args={"x": "f32[N]", "s": "f32", "out": "f32[N]"}, grid=["cdiv(N, 32)"])
@ct.kernel
def scaled(x, s, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (32,)) * s)


@tileverify.launch(args={"x": "f32[N]", "factor": "f32", "out": "f32[N]"}, grid=["cdiv(N, 64)"])
@ct.kernel
def scaled_by(x, factor, out):
    i = ct.bid(0)
    ct.store(out, (i,), factor * ct.load(x, (i,), (64,)))


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 32)"], requires=["x is out"], alias=[["x", "out"]])
@ct.kernel
def in_place(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (32,)) * 3)


@tileverify.launch(args={"x": "f16[N]", "out": "f16[N]"}, grid=["cdiv(N, 32)"])
@ct.kernel
def halves(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (32,)) * 3)
'''


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    return file


def answer(kernels: Path, one: str, two: str, n: int | None = None) -> ExactAnswer:
    options = EqualOptions(Options(values=None if n is None else {"N": n}, launches=8))
    (found,) = judge(f"{kernels}::{one}", f"{kernels}::{two}", options)
    return found.equality


@pytest.mark.parametrize(("one", "two"), [("plain", "by_place"), ("scaled", "scaled_by")])
def test_arguments_are_those_of_the_same_names_or_places(kernels: Path, one: str, two: str) -> None:
    for first, second in ((one, two), (two, one)):
        found = answer(kernels, first, second)
        assert found.answer is Decision.EQUAL, found.reason


def test_launches_that_the_second_does_not_allow_are_left_out(kernels: Path) -> None:
    assert answer(kernels, "plain", "whole_tiles", 48).answer is Decision.EQUAL
    found = answer(kernels, "plain", "whole_tiles", 50)
    assert found.answer is Decision.NOT_DECIDED
    assert "whole_tiles [0] does not allow the launch: 'N % 16 == 0' does not hold for N = 50" in found.reason


@pytest.mark.parametrize(
    ("two", "reason"),
    [
        ("longer", "takes x as f32[128], another array"),
        ("scaled", "takes float scalars that"),
        ("in_place", "takes x and out for one array"),
        ("halves", "floats of 4 bytes read as f16"),
    ],
)
def test_other_arguments_are_not_decided(kernels: Path, two: str, reason: str) -> None:
    found = answer(kernels, "plain", two, 64)
    assert found.answer is Decision.NOT_DECIDED
    assert reason in found.reason


def test_arrays_that_are_one_stay_one_where_that_is_allowed(kernels: Path) -> None:
    found = answer(kernels, "in_place", "plain", 64)
    assert found.answer is Decision.NOT_DECIDED
    assert "plain [0] does not allow x and out to be one array" in found.reason
    assert answer(kernels, "in_place", "in_place", 64).answer is Decision.EQUAL


def test_another_number_of_arrays_is_a_mistake(kernels: Path) -> None:
    with pytest.raises(UsageError, match="takes 1 arrays"):
        judge(f"{kernels}::plain", f"{ORDER}::own_places")


def test_a_second_kernel_whose_result_hangs_on_the_order_is_no_reference() -> None:
    """Block after block it does what the first one does."""
    found = answer(ORDER, "places_by_block", "places", 5)
    assert found.answer is Decision.NOT_DECIDED
    assert "places [0]: it is not known that every order of blocks gives the same result" in found.reason
