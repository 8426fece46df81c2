"""Concrete launches within a contract, drawn at random, and what the reference interpreter sees in them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileverify.backend.interpreter.arguments import ELEMENT_BYTES, extent_bytes
from tileverify.backend.interpreter.encodings import round_to, to_bits
from tileverify.backend.interpreter.schedule import AccessOrder, BlockOrder, Schedule
from tileverify.backend.replay.explore import Exploration, explore
from tileverify.contract.concrete import Block, ConcreteArray, ConcreteLaunch
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.expressions import constant_value, evaluate, free_names
from tileverify.contract.launch import (
    Apply,
    ArrayArgument,
    Expression,
    KernelUnit,
    LaunchSpec,
    ListArgument,
    Name,
    Number,
    SameArray,
    ScalarArgument,
    TupleArgument,
)
from tileverify.contract.operators import Undefined
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import ScalarType
from tileverify.pipeline import entry_of

from .fact_contents import has_rich_facts, rich_contents, said, starts_last
from .further_contents import further_contents

SIZES = (0, 1, 2, 3, 4, 5, 8, 17, 31, 33, 64, 65, 100, 127, 128, 129, 200, 256, 257, 300, 512, 600, 1025)
ALIGNED = 256
"""Bytes to a multiple of which a clause may want an array to be aligned."""
MOST_ARRAYS = 33
"""Of a list: no launch is made with a longer one."""
LARGEST_CONTENTS = 1 << 14
"""Elements of an index array that get values of their own."""
LARGEST_MEMORY = 1 << 24
"""Bytes of an array of floats that gets values of its own."""
WIDE = 4096
"""Apart by more than a tile is long."""
VARIANTS = 8
"""Contents that are built to be different; of those after them something further holds (`further_contents`)."""
STEPS = 1 << 32
BLOCKS = 12
"""Blocks to run of a larger grid."""
SCHEDULES = (
    Schedule(BlockOrder.SEQUENTIAL),
    Schedule(BlockOrder.REVERSED, AccessOrder.EXTREME),
    Schedule(BlockOrder.INTERLEAVED, AccessOrder.RANDOM, 1),
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A launch with several contents of its index arrays; ``values`` are what its names stand for."""

    values: Mapping[str, int]
    launches: tuple[ConcreteLaunch, ...]


def drawn_launches(
    spec: LaunchSpec, count: int, seed: int, *, sizes: Sequence[int] = SIZES, scalars: Sequence[int] = (),
    most_blocks: int | None = 64, tries: int = 4000, admits: Callable[[Mapping[str, int]], bool] = lambda known: True,
) -> list[ConcreteLaunch]:  # fmt: skip
    """``count`` different launches that satisfy the contract and, from the values of all its names, ``admits``.

    More than one block, and up to ``most_blocks``, where the contract allows that; ``None`` takes any grid.
    ``scalars`` are further values for signed scalars.
    """
    found = drawn_variants(
        spec, count, seed, 1, sizes=sizes, scalars=scalars, most_blocks=most_blocks, tries=tries, admits=admits
    )
    return [drawn.launches[0] for drawn in found]


def drawn_variants(
    spec: LaunchSpec, count: int, seed: int, variants: int, *, sizes: Sequence[int] = SIZES,
    scalars: Sequence[int] = (), most_blocks: int | None = 64, tries: int = 4000,
    admits: Callable[[Mapping[str, int]], bool] = lambda known: True,
) -> list[Drawn]:  # fmt: skip
    """The same launches, each with ``variants`` contents of its index arrays."""
    source = random.Random(seed)
    choices = _choices(spec, sizes, scalars)
    found: dict[tuple[int, ...], tuple[dict[str, int], Block]] = {}
    seen: set[tuple[int, ...]] = set()
    for _ in range(tries if choices or spec.grid is None else 1):
        values = {name: source.choice(numbers) for name, numbers in choices.items()}
        drawn_values = tuple(values.values())
        if spec.grid is not None and drawn_values in seen:
            continue  # few names are drawn again and again, and where they give the grid they give the same one
        seen.add(drawn_values)
        grid = _grid(spec, values, source, admits)
        if grid is not None:
            found.setdefault((*drawn_values, *grid), (values, grid))
    drawn = list(found.values())
    if most_blocks is not None:
        drawn = [(values, grid) for values, grid in drawn if 1 < _volume(grid) <= most_blocks] or drawn
    chosen = source.sample(drawn, min(count, len(drawn)))
    return [Drawn(values, _variants(spec, values, grid, source, variants)) for values, grid in chosen]


def variants_of(
    spec: LaunchSpec, values: Mapping[str, int], variants: int, seed: int,
    admits: Callable[[Mapping[str, int]], bool] = lambda known: True,
) -> Drawn | None:  # fmt: skip
    """The launch with these values of all names and ``variants`` contents, if the contract and ``admits`` allow it."""
    source = random.Random(seed)
    grid = _grid(spec, values, source, admits)
    return None if grid is None else Drawn(values, _variants(spec, values, grid, source, variants))


def _variants(
    spec: LaunchSpec, values: Mapping[str, int], grid: Block, source: random.Random, variants: int
) -> tuple[ConcreteLaunch, ...]:
    return tuple(_launch(spec, values, grid, source, variant) for variant in range(variants))


def launch_of(spec: LaunchSpec, values: Mapping[str, int], grid: Block | None = None) -> ConcreteLaunch | None:
    """The launch with these values of all names, if the contract allows it; ``grid`` where it does not say."""
    source = random.Random(0)
    if spec.grid is None:
        assert grid is not None
        spec = replace(spec, grid=(Number(grid[0]), Number(grid[1]), Number(grid[2])))
    found = _grid(spec, values, source, lambda known: True)
    return None if found is None else _launch(spec, values, found, source)


def observe(
    unit: KernelUnit, launch: ConcreteLaunch, schedules: Sequence[Schedule] = SCHEDULES, *, undetermined: bool = False
) -> Exploration:
    """Runs the blocks of the launch (some, where there are many) on one memory, under each of ``schedules``.

    Floats that no fact speaks of are small integers, so that sums are exact in any order.  ``undetermined``: what the
    specification leaves open may decide something, which ends a block's run.
    """
    module = decode(unit.bytecode, file=str(unit.file))
    entry = entry_of(module, unit)
    found = explore(
        module, entry, unit.parameters, launch, _floats(launch),
        schedules=schedules, blocks=some_blocks(launch.grid), budget=STEPS,
    )  # fmt: skip
    stops = [stop for stop in found.stops if not (undetermined and "leaves open" in stop.reason)]
    assert found.events or not stops, f"{launch}\n{found.text()}"
    assert not found.unfinished
    return found


def _floats(launch: ConcreteLaunch) -> dict[str, NDArray[Any]]:
    """Memory by allocation, where an array of floats lives there and is not too large."""
    named = dict(launch.arrays)
    for name, items in launch.lists.items():
        named |= {f"{name}[{number}]": item for number, item in enumerate(items)}
    sizes: dict[str, int] = {}
    kinds: dict[str, str] = {}
    for name, array in named.items():
        allocation = array.allocation or name
        sizes[allocation] = max(sizes.get(allocation, 0), array.byte_offset + extent_bytes(array))
        kinds[allocation] = array.dtype
    return {
        allocation: _integers(dtype, sizes[allocation] // ELEMENT_BYTES[dtype], zlib.crc32(allocation.encode()))
        for allocation, dtype in kinds.items()
        if ELEMENT_TYPES[dtype].kind == "f" and 0 < sizes[allocation] <= LARGEST_MEMORY
    }


def _integers(dtype: str, count: int, seed: int) -> NDArray[Any]:
    """``count`` small integers in the float format ``dtype``, as they stand in memory."""
    (spelling,) = ELEMENT_TYPES[dtype].tile_ir
    element = ScalarType(spelling, ELEMENT_TYPES[dtype].bits)
    values = np.random.default_rng(seed).integers(-9, 10, count).astype(np.float64)
    return to_bits(round_to(values, element), element)


def _volume(grid: Block) -> int:
    return grid[0] * grid[1] * grid[2]


def some_blocks(grid: Block) -> Sequence[Block]:
    """All blocks of a small grid; of a larger one its corners, neighbours, powers of two."""
    if _volume(grid) <= 2 * BLOCKS:
        return [(x, y, z) for x in range(grid[0]) for y in range(grid[1]) for z in range(grid[2])]
    powers = [1 << k for k in range(24)]
    axes = []
    for size in grid:
        near = [0, 1, size - 1, size - 2, *reversed([power for power in powers if power < size]), 2, 3]
        axes.append(list(dict.fromkeys(place for place in near if 0 <= place < size)))
    keep = BLOCKS if min(sorted(grid)[1:]) == 1 else 4
    xs, ys, zs = (sorted(axis[:keep]) for axis in axes)
    return list(product(xs, ys, zs))


# ------------------------------------------------------------------------------------------- drawing values
def _expressions(spec: LaunchSpec) -> Iterator[Expression]:
    yield from spec.grid or ()
    yield from (clause for clause in spec.requires if not isinstance(clause, SameArray))
    for array in _arrays(spec):
        yield from array.shape
        yield from array.strides or ()
    for argument in spec.arguments:
        if isinstance(argument, ListArgument):
            yield argument.length
        if isinstance(argument, ScalarArgument) and argument.value is not None:
            yield argument.value


def _arrays(spec: LaunchSpec) -> Iterator[ArrayArgument]:
    yield from spec.arrays()
    yield from (argument.element for argument in spec.arguments if isinstance(argument, ListArgument))


def _scalars(spec: LaunchSpec) -> Iterator[ScalarArgument]:
    for argument in spec.arguments:
        items = argument.items if isinstance(argument, TupleArgument) else (argument,)
        yield from (item for item in items if isinstance(item, ScalarArgument) and item.dtype[0] in "iu")


def _choices(spec: LaunchSpec, sizes: Sequence[int], scalars: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Values to try for every free name: usual sizes, and the neighbourhood of what the name is compared with."""
    names = frozenset[str]().union(*(free_names(expression) for expression in _expressions(spec)))
    names |= {scalar.name for scalar in _scalars(spec) if scalar.value is None}
    choices = {name: list(sizes) for name in sorted(names) if "." not in name}
    for scalar in _scalars(spec):
        if scalar.name in choices and scalar.dtype[0] == "i":
            choices[scalar.name] += scalars
    for clause in spec.requires:
        if isinstance(clause, Apply) and len(clause.args) == 2:
            bound = constant_value(clause.args[1])
            if bound is not None:
                for name in free_names(clause.args[0]) & choices.keys():
                    choices[name] += [bound, bound + 1, bound + 70, bound + 2050]
    return {name: tuple(values) for name, values in choices.items()}


def _grid(
    spec: LaunchSpec, values: Mapping[str, int], source: random.Random, admits: Callable[[Mapping[str, int]], bool]
) -> Block | None:
    """The grid that ``values`` give, or ``None`` if the contract does not allow them."""
    try:
        grid = _any_grid(source) if spec.grid is None else _evaluated(spec.grid, values)
        known = {**values, **_layouts(spec, values), **dict(zip(("grid.x", "grid.y", "grid.z"), grid, strict=True))}
        if not all(evaluate(clause, known) for clause in spec.requires if not isinstance(clause, SameArray)):
            return None
        ranges = [(fact.low, fact.high) for fact in spec.data if fact.kind == "range" and not fact.unless]
        if any(evaluate(low, known) >= evaluate(high, known) for low, high in ranges if low and high):
            return None
        if any(fact.amount and evaluate(fact.amount, known) < (fact.kind == "multiples") for fact in spec.data):
            return None
        if any(evaluate(a.length, values) > MOST_ARRAYS for a in spec.arguments if isinstance(a, ListArgument)):
            return None
        if not admits(known) or not all(_keeps_its_promise(array, values) for array in _arrays(spec)):
            return None
    except Undefined:
        return None
    x, y, z = grid
    return (x, y, z) if all(1 <= axis < 1 << 24 for axis in grid) else None


def _keeps_its_promise(array: ArrayArgument, values: Mapping[str, int]) -> bool:
    """Whether an array with a named stride keeps its elements apart: each stride is beyond what smaller ones reach."""
    if array.strides is None or not any(isinstance(stride, Name) for stride in array.strides):
        return True
    shape, strides = _layout(array, values)
    reach = 0
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1 and stride <= reach:
            return 0 in shape
        reach += stride * (size - 1)
    return True


def _any_grid(source: random.Random) -> Block:
    return source.choice(((1, 1, 1), (2, 1, 1), (3, 1, 1), (source.randint(1, 6), 1, 1), (2, 2, 1), (1, 1, 2)))


def _layouts(spec: LaunchSpec, values: Mapping[str, int]) -> dict[str, int]:
    """What clauses call ``x.shape[0]``, ``x.strides[0]``, ``xs.length`` and a scalar that an expression gives.

    ``x.address`` is the place in the array's allocation, which the interpreter aligns to a page.
    """
    known: dict[str, int] = {}
    places = _allocations(spec)
    for array in _arrays(spec):  # all arrays of a list are alike here
        shape, strides = _layout(array, values)
        address, sizes, steps = _spelled(array.name, len(shape))
        known[address] = places[array.name][1] * ELEMENT_BYTES[array.dtype] if array.name in places else 0
        known.update(zip(sizes, shape, strict=True))
        known.update(zip(steps, strides, strict=True))
    for argument in spec.arguments:
        if isinstance(argument, ListArgument):
            known[f"{argument.name}.length"] = evaluate(argument.length, values)
    return known | {s.name: evaluate(s.value, values) for s in _scalars(spec) if s.value is not None}


@cache
def _spelled(array: str, rank: int) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """How clauses name the address of an array, its sizes, and its strides."""
    sizes, steps = ([f"{array}.{what}[{axis}]" for axis in range(rank)] for what in ("shape", "strides"))
    return f"{array}.address", tuple(sizes), tuple(steps)


def _layout(array: ArrayArgument, values: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and strides in elements."""
    shape = _evaluated(array.shape, values)
    if array.strides is not None:
        return shape, _evaluated(array.strides, values)
    if len(shape) == 1:
        return shape, (1,)
    return shape, tuple(_product(shape[dim + 1 :]) for dim in range(len(shape)))


def _evaluated(expressions: Sequence[Expression], values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple([evaluate(expression, values) for expression in expressions])


def _launch(
    spec: LaunchSpec, values: Mapping[str, int], grid: Block, source: random.Random, variant: int = 0
) -> ConcreteLaunch:
    places = _allocations(spec)
    described = {array.name: array for array in spec.arrays()}
    filled: dict[str, ConcreteArray] = {}
    for name in starts_last(spec):
        filled[name] = _array(described[name], spec, values, source, places.get(name), filled, variant)
    arrays = {name: filled[name] for name in described}
    lists = {}
    for argument in spec.arguments:
        if isinstance(argument, ListArgument):
            length = evaluate(argument.length, values)
            items = (_array(argument.element, spec, values, source, None, {}) for _ in range(length))
            lists[argument.name] = tuple(items)
    scalars = {
        scalar.name: values[scalar.name] if scalar.value is None else evaluate(scalar.value, values)
        for scalar in _scalars(spec)
    }
    return ConcreteLaunch(grid, arrays, scalars, lists)


def _allocations(spec: LaunchSpec) -> dict[str, tuple[str, int]]:
    """Arrays that share memory: allocation and offset in elements.  Groups without ``is`` are shifted by one, or as far
    as clauses on addresses may ask for."""
    places: dict[str, tuple[str, int]] = {}
    sizes = {array.name: ELEMENT_BYTES[array.dtype] for array in spec.arrays()}
    aligned = {name for clause in spec.requires if not isinstance(clause, SameArray) for name in free_names(clause)}
    for group in (*spec.alias, *spec.overlap):
        first, *others = sorted(group, reverse=True)
        asked = any(f"{name}.address" in aligned for name in group)
        for place, name in enumerate((first, *others)):
            places[name] = (f"{first}'s memory", place * ALIGNED // sizes[name] if asked else place)
    for group in spec.same_arrays():
        first = min(group)
        for name in group:
            places[name] = (f"{first}'s memory", 0)
    return places


def _array(
    array: ArrayArgument,
    spec: LaunchSpec,
    values: Mapping[str, int],
    source: random.Random,
    place: tuple[str, int] | None,
    filled: Mapping[str, ConcreteArray],
    variant: int = 0,
) -> ConcreteArray:
    shape, strides = _layout(array, values)
    contents: Mapping[int, int] = {}
    if array.dtype[0] in "iu":
        further = _further(array, shape, spec, values, source, filled) if variant >= VARIANTS else None
        if has_rich_facts(array.name, spec) and _product(shape) > LARGEST_CONTENTS:
            contents = {}
        elif further is not None:
            contents = dict(enumerate(map(int, further)))
        elif has_rich_facts(array.name, spec):
            known_values = {**values, **_layouts(spec, values)}
            seed = source.randrange(1 << 30)
            made = rich_contents(array.name, array.dtype, shape, spec, known_values, seed, _known(filled), variant)
            contents = dict(enumerate(map(int, made)))
        else:
            contents = _contents(array, spec, {**values, **_layouts(spec, values)}, source, _product(shape), variant)
    allocation, offset = place or ("", 0)
    return ConcreteArray(array.dtype, shape, strides, contents, 0, allocation, offset * ELEMENT_BYTES[array.dtype])


def _known(filled: Mapping[str, ConcreteArray]) -> dict[str, NDArray[Any]]:
    return {name: np.array(list(array.contents.values()), np.int64) for name, array in filled.items()}


def _further(
    array: ArrayArgument, shape: Sequence[int], spec: LaunchSpec, values: Mapping[str, int], source: random.Random,
    filled: Mapping[str, ConcreteArray],
) -> NDArray[Any] | None:  # fmt: skip
    if not said(array.name, spec) or not 0 < _product(shape) <= LARGEST_CONTENTS:
        return None
    known_values = {**values, **_layouts(spec, values)}
    return further_contents(array.name, array.dtype, shape, spec, known_values, source, _known(filled))


def _product(sizes: Sequence[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


def _contents(
    array: ArrayArgument, spec: LaunchSpec, values: Mapping[str, int], source: random.Random, count: int,
    variant: int = 0,
) -> dict[int, int]:  # fmt: skip
    """Values of an index array that make its facts true; where none says so, they are distinct half of the time.

    ``variant``: 1 counts from the lowest value on, 2 spaces them evenly, 3 takes the lowest for all, 4 counts down from
    the highest.  Where no fact limits them, 1 counts from 0 on, 3 takes 0 and 1, 5 puts them far apart.  All others are
    drawn.
    """
    if not 0 < count <= LARGEST_CONTENTS:
        return {}
    low, high, distinct, limited = -2, count, False, False
    for fact in spec.data:
        if fact.array != array.name:
            continue
        distinct |= fact.kind in ("injective", "permutation")
        limited |= fact.kind in ("permutation", "range")
        if fact.kind == "permutation":
            low, high = 0, count
        elif fact.kind == "injective":
            low, high = -2, count + 10
        elif fact.kind == "range" and fact.low is not None and fact.high is not None:
            low, high = evaluate(fact.low, values), evaluate(fact.high, values)
    distinct |= source.random() < 0.5 and high - low >= count
    drawn = source.sample(range(low, high), count) if distinct else [source.randrange(low, high) for _ in range(count)]
    step = {1: 1, 2: max(1, (high - low) // count), 3: int(distinct)}.get(variant)
    if step is not None:
        drawn = [min(low + step * i, high - 1) for i in range(count)]
    if not limited and variant in (1, 3):
        drawn = [i if variant == 1 or distinct else 2 * i // count for i in range(count)]
    if variant == 4:
        drawn = [max(high - 1 - i, low) for i in range(count)]
    if variant == 5 and not limited:
        drawn = [WIDE * i for i in range(count)]
    if any(fact.array == array.name and fact.kind == "nondecreasing" for fact in spec.data):
        drawn.sort()
    return dict(enumerate(drawn))
