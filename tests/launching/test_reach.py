"""What launches reach: never less than the interpreter sees them touch, and less than all where it can be.

The ranges come from the access summary, the footprints from the interpreter, which shares no code with it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from tests.corpus.compiled import units
from tests.corpus.launches import some_blocks, some_launches
from tests.frontend.symbolic.programs import ProgramMaker
from tests.profiles import tries

from tileverify.backend.guard import ArrayValue
from tileverify.backend.guard.arguments import Value
from tileverify.backend.interpreter import Budget, InterpreterStop, Memory, bind_launch, run_block
from tileverify.contract.launch import ConcreteLaunch, EntryParameter, KernelUnit
from tileverify.corpus import ROOT, Labelled, corpus_launches
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import Entry, Module
from tileverify.frontend.sources.discover import discover
from tileverify.frontend.symbolic.execute import summarize
from tileverify.launching.calls import Touched, use_of
from tileverify.launching.proofs import touched_by
from tileverify.launching.reach import Reach
from tileverify.pipeline.unit_summary import entry_of
from tileverify.results import Verdict

LAUNCHES = tries(short=1, long=3)
STEPS = 1 << 24

Bytes = tuple[str, bool, int, int]
"""Array, whether it is written, first byte and end, relative to the array."""


def arguments(launch: ConcreteLaunch) -> dict[str, Value]:
    """As a launcher is told: arrays a terabyte apart."""
    arrays = {
        name: ArrayValue((number + 1) << 40, array.shape, array.strides, array.dtype)
        for number, (name, array) in enumerate(launch.arrays.items())
    }
    return {**arrays, **launch.scalars}


def seen(module: Module, entry: Entry, parameters: Sequence[EntryParameter], launch: ConcreteLaunch) -> Iterator[Bytes]:
    """Every access of an array argument that the interpreter makes, in some blocks."""
    bound = bind_launch(module, entry, parameters, launch)
    memory, budget = Memory(bound.image), Budget(STEPS)
    for block in some_blocks(launch.grid):
        log = run_block(bound.program, bound.arguments, memory, launch.grid, block, budget)
        for access in log.accesses:
            origin = bound.image.origins[access.origin] if access.origin >= 0 else None
            if origin is None or origin.name not in launch.arrays:
                continue
            for footprint, write in ((access.reads, False), (access.writes, True)):
                if footprint is not None:
                    yield origin.name, write, footprint.low - origin.base, footprint.end - origin.base


def missing(touched: Touched, launch: ConcreteLaunch, accesses: Iterator[Bytes]) -> list[Bytes]:
    """Accesses that the launch was not said to make."""
    named = arguments(launch)
    use = use_of("kernel", 0, launch.grid, named, touched)
    starts = {name: value.address for name, value in named.items() if isinstance(value, ArrayValue)}

    def said(name: str, write: bool, low: int, end: int) -> bool:
        start = starts[name]
        return any(
            each.what == name and (each.write or not write) and each.start <= start + low and start + end <= each.end
            for each in use.accesses
        )

    return [each for each in dict.fromkeys(accesses) if not said(*each)]


PROVED = [label for label in corpus_launches() if label.verdict is Verdict.PROVED]


@pytest.mark.parametrize("label", PROVED, ids=lambda label: label.id)
def test_launches_of_the_corpus_reach_no_more(label: Labelled) -> None:
    """With the grids of their contracts, and with smaller ones, in which ranges are smaller, too."""
    unit = units()[str(label.file), label.kernel, label.launch]
    module, touched = decode(unit.bytecode), touched_by(unit)
    entry = entry_of(module, unit)
    draw = random.Random(label.id)
    for launch in some_launches(unit.launch, LAUNCHES, seed=5):
        x, y, z = (draw.randint(1, size) for size in launch.grid)
        for each in (launch, replace(launch, grid=(x, y, z))):
            assert not missing(touched, each, seen(module, entry, unit.parameters, each)), each


PROGRAMS = tries(short=8, long=80)


@pytest.mark.random
@pytest.mark.parametrize("chunk", range(8))
def test_random_programs_reach_no_more(chunk: int) -> None:
    """Pointers to places that every bit of some arithmetic decides on, in loops and branches."""
    accesses = smaller = 0
    for seed in range(chunk * PROGRAMS, (chunk + 1) * PROGRAMS):
        module, parameters, launch = ProgramMaker(seed).make()
        summary = summarize(module, module.entries[0], parameters)
        reach = Reach.of(summary)
        written = frozenset(site.origin.name for site in summary.sites if site.writes)
        try:
            found = list(seen(module, module.entries[0], parameters, launch))
        except InterpreterStop:
            continue
        assert not missing(Touched(written, frozenset(), reach), launch, iter(found)), seed
        accesses += len(found)
        smaller += reach is not None
    assert accesses > PROGRAMS
    assert smaller > PROGRAMS // 4


# ---------------------------------------------------------------------------------------- how small they are
def reached(path: str, launch_name: str, launch: Mapping[str, object], grid: tuple[int, int, int]) -> set[Bytes]:
    unit = next(
        unit
        for unit in discover([f"{ROOT / path}"])
        if isinstance(unit, KernelUnit) and launch_name in (unit.kernel, unit.launch.name)
    )
    named = {
        name: ArrayValue(0, value, _strides(value), "f32") if isinstance(value, tuple) else value
        for name, value in launch.items()
    }
    use = use_of("kernel", 0, grid, named, touched_by(unit))  # type: ignore[arg-type]
    return {(each.what, each.write, each.start, each.end) for each in use.accesses}


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides)


def test_views_reach_what_the_grid_covers() -> None:
    few = reached("race_free/axpy.py", "any-size", {"alpha": 1.0, "x": (4096,), "y": (4096,)}, (2, 1, 1))
    assert few == {("x", False, 0, 4096), ("y", False, 0, 4096), ("y", True, 0, 4096)}
    all_ = reached("race_free/axpy.py", "any-size", {"alpha": 1.0, "x": (1000,), "y": (1000,)}, (2, 1, 1))
    assert {(low, high) for _, _, low, high in all_} == {(0, 4000)}
    assert not reached("race_free/axpy.py", "any-size", {"alpha": 1.0, "x": (0,), "y": (0,)}, (1, 1, 1))


def test_pointers_reach_what_the_grid_covers() -> None:
    found = reached("race_free/scatter_affine.py", "reverse_rows", {"x": (64, 32), "out": (64, 32)}, (4, 1, 1))
    rows = 4 * 32 * 4
    assert found == {("x", False, 0, rows), ("out", True, 0, rows)}


def test_addresses_that_were_loaded_reach_the_whole_array() -> None:
    found = reached(
        "race_free/scatter_permutation.py", "injective", {"x": (64,), "target": (64,), "out": (500,)}, (1, 1, 1)
    )
    assert ("out", True, 0, 2000) in found


def test_what_nobody_proved_may_go_anywhere() -> None:
    unit = next(unit for unit in discover([f"{ROOT / 'race_free' / 'axpy.py'}"]) if isinstance(unit, KernelUnit))
    named = {name: ArrayValue(start, (4096,), (1,), "f32") for name, start in (("x", 0), ("y", 1 << 20))}
    use = use_of("kernel", 0, (1, 1, 1), {"alpha": 1.0, **named}, touched_by(unit).anywhere())
    assert [(each.start, each.end, each.write) for each in use.accesses] == [
        (0, 16384, False), ((1 << 20), (1 << 20) + 16384, True),
    ]  # fmt: skip


def test_numbers_are_read_as_the_bytecode_reads_them() -> None:
    """An unsigned scalar beyond the largest signed one."""
    unit = next(
        unit for unit in discover([f"{ROOT / 'integers' / 'position_check.py'}"]) if isinstance(unit, KernelUnit)
    )
    for position in (-1, 0, 3, (1 << 31) - 1):
        out = ArrayValue(0, (4, 256), (256, 1), "f32")
        named: dict[str, ArrayValue | int | float] = {"out": out, "position": position}
        use = use_of("kernel", 0, (4, 1, 1), named, touched_by(unit))
        assert all(0 <= each.start < each.end <= 4096 for each in use.accesses)


def test_a_second_launch_with_the_same_numbers_is_looked_up() -> None:
    unit = next(unit for unit in discover([f"{ROOT / 'race_free' / 'axpy.py'}"]) if isinstance(unit, KernelUnit))
    reach = touched_by(unit).reach
    assert reach is not None
    x, y = (ArrayValue(start, (4096,), (1,), "f32") for start in (0, 1 << 20))
    first = reach.ranges({"alpha": 1.0, "x": x, "y": y}, (2, 1, 1))
    assert reach.ranges({"alpha": 2.0, "x": y, "y": x}, (2, 1, 1)) is first
    assert reach.ranges({"alpha": 1.0, "x": x, "y": y}, (3, 1, 1)) is not first
