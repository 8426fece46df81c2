"""Launches of the corpus with numbers in them: sizes, scalars and whole array contents, to compute with.

Memory is held as flat arrays of the elements' storage type (bf16 as the upper half of an f32's bits); `numbers` reads
it and `overwritten` writes it through the arguments' shapes and strides, as NumPy values.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tileverify.backend.interpreter import Budget, GridRun, run_grid
from tileverify.backend.interpreter.grid_runs import ELEMENT_BYTES, extent_bytes
from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import (
    ArrayArgument,
    Block,
    ConcreteArray,
    ConcreteLaunch,
    DataFact,
    Expression,
    KernelUnit,
    LaunchSpec,
    ListArgument,
    ScalarArgument,
    TupleArgument,
)
from tileverify.frontend.bytecode import decode
from tileverify.pipeline.unit_summary import entry_of

from .fact_contents import as_observed, has_rich_facts, rich_contents, starts_last

Array = NDArray[Any]

STORAGE: Final = {
    "bf16": np.uint16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip
LARGE: Final = 1 << 16
"""Elements from which the contents of an array repeat, so that files of them stay small."""
PERIOD: Final = 1009
STEPS: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values for a launch's free names and scalars; ``grid`` where the contract leaves it open.

    ``blocks``: the only ones to interpret, for launches too large to interpret whole.  ``asserted``: data facts under
    which no assertion of the kernel fails, where its contract does not say so.
    """

    values: Mapping[str, int | float]
    grid: Block | None = None
    blocks: tuple[Block, ...] | None = None
    asserted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """One launch and the contents of its memory by allocation: flat, in storage types, outputs filled like inputs.

    What a kernel must not write therefore keeps values that no kernel would write.
    """

    unit: KernelUnit
    launch: ConcreteLaunch
    contents: Mapping[str, Array]
    dtypes: Mapping[str, str]
    blocks: tuple[Block, ...] | None = field(default=None)


def problem(unit: KernelUnit, numbers_: Numbers) -> Problem:
    """The launch that the numbers give, with random contents that satisfy the spec's facts."""
    spec, values = as_observed(unit.launch), dict(numbers_.values)
    sizes = {name: value for name, value in values.items() if isinstance(value, int)}
    source = np.random.default_rng(zlib.crc32(f"{unit.kernel}[{spec.name}]".encode()))
    places = {name: min(group) for group in spec.sharing() for name in group}
    arrays = {each.name: _array(each, sizes, places.get(each.name, "")) for each in spec.arrays()}
    lists = {
        each.name: tuple(_array(each.element, sizes, "") for _ in range(evaluate(each.length, sizes)))
        for each in spec.arguments
        if isinstance(each, ListArgument)
    }
    scalars, floats = {}, {}
    for scalar in _scalars(spec):
        if "f" in scalar.dtype:
            floats[scalar.name] = float(values[scalar.name])
        else:
            scalars[scalar.name] = evaluate(scalar.value, sizes) if scalar.value else sizes[scalar.name]
    grid = numbers_.grid or _triple(spec.grid, sizes)
    launch = ConcreteLaunch(grid, arrays, scalars, lists, floats)
    contents: dict[str, Array] = {}
    dtypes: dict[str, str] = {}
    named = dict(named_arrays(launch))
    plain = starts_last(spec)
    for name in (*plain, *(name for name in named if name not in plain)):
        array = named[name]
        place = array.allocation or name
        if place not in contents:
            facts = [fact for fact in spec.data if fact.array == name]
            if has_rich_facts(name, spec):
                seed = int(source.integers(1 << 30))
                contents[place] = rich_contents(name, array.dtype, array.shape, spec, sizes, seed, contents)
            else:
                contents[place] = _contents(array, facts, sizes, source)
            dtypes[place] = array.dtype
    return Problem(unit, launch, contents, dtypes, numbers_.blocks)


def without_failures(unit: KernelUnit, numbers_: Numbers) -> Problem:
    """`problem`, with contents for which every assertion holds: on a GPU one that fails ends the whole program."""
    facts = tuple(map(parse_data_fact, numbers_.asserted))
    return problem(replace(unit, launch=replace(unit.launch, data=(*unit.launch.data, *facts))), numbers_)


def interpret(given: Problem) -> GridRun:
    """All blocks of the problem, or the sampled ones, on the reference interpreter."""
    unit = given.unit
    module = decode(unit.bytecode, file=str(unit.file))
    entry = entry_of(module, unit)
    return run_grid(module, entry, unit.parameters, given.launch, given.contents, Budget(STEPS), given.blocks)


def decided(given: Problem, run: GridRun, allocation: str) -> Array:
    """Which elements of the allocation the run speaks about: all, or those that the sampled blocks wrote."""
    if given.blocks is None:
        return np.ones(given.contents[allocation].shape, np.bool_)
    place = next(each for each in run.image.allocations if each.name == allocation)
    marks = np.zeros(place.size, np.bool_)
    for access in (access for log in run.logs for access in log.accesses):
        if access.writes is not None and run.image.allocation_of(access.origin) is place:
            for start, end in zip(*access.writes.runs, strict=True):
                marks[start - place.base : end - place.base] = True
    return marks[:: given.contents[allocation].itemsize]


def named_arrays(launch: ConcreteLaunch) -> Iterator[tuple[str, ConcreteArray]]:
    """Plain arrays and the elements of lists (``xs[0]``)."""
    yield from launch.arrays.items()
    for name, elements in launch.lists.items():
        yield from ((f"{name}[{number}]", array) for number, array in enumerate(elements))


# --------------------------------------------------------------------------------------------- as NumPy values
def as_numbers(stored: Array, dtype: str) -> Array:
    """Stored elements as numbers: float64 for floats, integers as they are.  A copy."""
    if dtype == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64) if dtype[0] == "f" else stored.copy()


def numbers(given: Problem) -> dict[str, Array]:
    """All array arguments by name, in their shapes."""
    decoded = {place: as_numbers(stored, given.dtypes[place]) for place, stored in given.contents.items()}
    return {name: _view(decoded[array.allocation or name], array) for name, array in named_arrays(given.launch)}


def overwritten(given: Problem, results: Mapping[str, Array]) -> dict[str, Array]:
    """All allocations as flat numbers after the arguments in ``results`` got these values."""
    decoded = {place: as_numbers(stored, given.dtypes[place]) for place, stored in given.contents.items()}
    for name, array in named_arrays(given.launch):
        if name in results:
            _view(decoded[array.allocation or name], array)[...] = results[name]
    return decoded


def _view(flat: Array, array: ConcreteArray) -> Array:
    start = array.byte_offset // ELEMENT_BYTES[array.dtype]
    return as_strided(flat[start:], array.shape, [stride * flat.itemsize for stride in array.strides])


# ------------------------------------------------------------------------------------------ binding the numbers
def _scalars(spec: LaunchSpec) -> Iterator[ScalarArgument]:
    for argument in spec.arguments:
        items = argument.items if isinstance(argument, TupleArgument) else (argument,)
        yield from (item for item in items if isinstance(item, ScalarArgument))


def _triple(grid: tuple[Expression, Expression, Expression] | None, sizes: Mapping[str, int]) -> Block:
    assert grid is not None, "the contract leaves the grid open: the numbers must give it"
    x, y, z = (evaluate(axis, sizes) for axis in grid)
    return x, y, z


def _array(array: ArrayArgument, sizes: Mapping[str, int], allocation: str) -> ConcreteArray:
    shape = tuple(evaluate(size, sizes) for size in array.shape)
    if array.strides is not None:
        strides = tuple(evaluate(stride, sizes) for stride in array.strides)
    else:
        strides = tuple(int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape)))
    return ConcreteArray(array.dtype, shape, strides, allocation=allocation)


def _contents(
    array: ConcreteArray, facts: list[DataFact], sizes: Mapping[str, int], source: np.random.Generator
) -> Array:
    count = extent_bytes(array) // ELEMENT_BYTES[array.dtype]
    storage = np.dtype(STORAGE[array.dtype])
    if array.dtype[0] in "iu":
        return _integers(facts, count, sizes, source).astype(storage)
    drawn = source.normal(size=count if count <= LARGE else PERIOD + int(source.integers(100))).astype(np.float32)
    if array.dtype == "bf16":
        return np.resize((drawn.view(np.uint32) >> 16).astype(storage), count)
    return np.resize(drawn.astype(storage), count)


def _integers(facts: list[DataFact], count: int, sizes: Mapping[str, int], source: np.random.Generator) -> Array:
    """Values around the valid indices of an array of this size, or what the facts say of them."""
    kinds = {fact.kind for fact in facts}
    distinct = not kinds.isdisjoint(("permutation", "injective"))
    spread = 0 if "permutation" in kinds else 3 if distinct else 2
    low, high = -spread, count + spread
    for fact in facts:
        if fact.low is not None and fact.high is not None:
            low, high = evaluate(fact.low, sizes), evaluate(fact.high, sizes)
    assert not distinct or high - low >= count, "there are fewer values than elements"
    drawn = source.permutation(np.arange(low, high))[:count] if distinct else source.integers(low, high, count)
    return np.sort(drawn) if "nondecreasing" in kinds else drawn
