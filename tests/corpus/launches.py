"""Concrete launches within a contract, drawn at random, and what the reference interpreter sees in them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileverify.backend.interpreter.grid_runs import ELEMENT_BYTES, extent_bytes
from tileverify.backend.interpreter.ordering import AccessOrder, BlockOrder, Schedule
from tileverify.backend.interpreter.rounding import round_to, to_bits
from tileverify.backend.replay.explore import Exploration, explore
from tileverify.contract.element_types import ELEMENT_TYPES
from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import (
    ArrayArgument,
    Block,
    ConcreteArray,
    ConcreteLaunch,
    KernelUnit,
    LaunchSpec,
    ListArgument,
    Number,
)
from tileverify.frontend.bytecode import decode
from tileverify.frontend.bytecode.model import ScalarType
from tileverify.pipeline.unit_summary import entry_of
from tileverify.system.errors import UsageError

from .. import profiles
from .fact_contents import as_observed, has_rich_facts, rich_contents, said, starts_last
from .further_contents import further_contents
from .values import Terms, allocations, choices_of, layout, product_of, scalars_of

SIZES = (0, 1, 2, 3, 4, 5, 8, 17, 31, 33, 64, 65, 100, 127, 128, 129, 200, 256, 257, 300, 512, 600, 1025)
FEW_TILES = tuple(size for size in SIZES if size <= 300)
"""Sizes of which most tiles need two or three."""
FEW_DRAWS = 400
"""Draws of them: more find more of the same kind."""
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


def some_launches(
    spec: LaunchSpec, count: int, seed: int, *, admits: Callable[[Mapping[str, int]], bool] = lambda known: True
) -> list[ConcreteLaunch]:
    """The same, of quick sizes where ``count`` of them have more than one block; of any with `--long`."""
    if profiles.tries(short=True, long=False):
        few = drawn_launches(spec, count, seed, sizes=FEW_TILES, tries=FEW_DRAWS, admits=admits)
        if len(few) == count and all(_volume(launch.grid) > 1 for launch in few):
            return few
    return drawn_launches(spec, count, seed, admits=admits)


def drawn_variants(
    spec: LaunchSpec, count: int, seed: int, variants: int, *, sizes: Sequence[int] = SIZES,
    scalars: Sequence[int] = (), most_blocks: int | None = 64, tries: int = 4000,
    admits: Callable[[Mapping[str, int]], bool] = lambda known: True,
) -> list[Drawn]:  # fmt: skip
    """The same launches, each with ``variants`` contents of its index arrays."""
    source, spec = random.Random(seed), as_observed(spec)
    terms = Terms.of(spec)
    choices = choices_of(spec, sizes, scalars)
    found: dict[tuple[int, ...], tuple[dict[str, int], Block]] = {}
    seen: set[tuple[int, ...]] = set()
    for _ in range(tries if choices or spec.grid is None else 1):
        values = {name: source.choice(numbers) for name, numbers in choices.items()}
        drawn_values = tuple(values.values())
        if spec.grid is not None and drawn_values in seen:
            continue  # few names are drawn again and again, and where they give the grid they give the same one
        seen.add(drawn_values)
        grid = terms.grid(values, source)
        if grid is not None:
            found.setdefault((*drawn_values, *grid), (values, grid))

    def allowed(each: Iterable[tuple[dict[str, int], Block]]) -> list[tuple[dict[str, int], Block]]:
        return [(values, grid) for values, grid in each if terms.allows(values, grid, admits)]

    # The grid is known before layouts are, so the contract is asked of others only if none of these is within it.
    fit = [each for each in found.values() if most_blocks is not None and 1 < _volume(each[1]) <= most_blocks]
    drawn = allowed(fit) or allowed(found.values())
    chosen = source.sample(drawn, min(count, len(drawn)))
    every = (_drawn(terms, values, grid, source, variants) for values, grid in chosen)
    return [each for each in every if each is not None]


def variants_of(
    spec: LaunchSpec, values: Mapping[str, int], variants: int, seed: int,
    admits: Callable[[Mapping[str, int]], bool] = lambda known: True,
) -> Drawn | None:  # fmt: skip
    """The launch with these values of all names and ``variants`` contents, if the contract and ``admits`` allow it."""
    source, terms = random.Random(seed), Terms.of(as_observed(spec))
    grid = terms.grid(values, source)
    if grid is None or not terms.allows(values, grid, admits):
        return None
    return _drawn(terms, values, grid, source, variants)


def _drawn(terms: Terms, values: Mapping[str, int], grid: Block, source: random.Random, variants: int) -> Drawn | None:
    """None where no contents keep the facts: the contract has no such launch."""
    try:
        return Drawn(values, tuple(_launch(terms, values, grid, source, variant) for variant in range(variants)))
    except UsageError as error:
        if error.message.startswith("no contents of"):
            return None
        raise


def launch_of(spec: LaunchSpec, values: Mapping[str, int], grid: Block | None = None) -> ConcreteLaunch | None:
    """The launch with these values of all names, if the contract allows it; ``grid`` where it does not say."""
    source = random.Random(0)
    if spec.grid is None:
        assert grid is not None
        spec = replace(spec, grid=(Number(grid[0]), Number(grid[1]), Number(grid[2])))
    terms = Terms.of(as_observed(spec))
    found = terms.grid(values, source)
    if found is None or not terms.allows(values, found, lambda known: True):
        return None
    return _launch(terms, values, found, source)


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


# ------------------------------------------------------------------------------------------- filling arrays
def _launch(
    terms: Terms, values: Mapping[str, int], grid: Block, source: random.Random, variant: int = 0
) -> ConcreteLaunch:
    spec, places = terms.spec, allocations(terms.spec)
    described = {array.name: array for array in spec.arrays()}
    filled: dict[str, ConcreteArray] = {}
    for name in starts_last(spec):
        filled[name] = _array(described[name], terms, values, source, places.get(name), filled, variant)
    arrays = {name: filled[name] for name in described}
    lists = {}
    for argument in spec.arguments:
        if isinstance(argument, ListArgument):
            length = evaluate(argument.length, values)
            items = (_array(argument.element, terms, values, source, None, {}) for _ in range(length))
            lists[argument.name] = tuple(items)
    scalars = {
        scalar.name: values[scalar.name] if scalar.value is None else evaluate(scalar.value, values)
        for scalar in scalars_of(spec)
    }
    return ConcreteLaunch(grid, arrays, scalars, lists)


def _array(
    array: ArrayArgument,
    terms: Terms,
    values: Mapping[str, int],
    source: random.Random,
    place: tuple[str, int] | None,
    filled: Mapping[str, ConcreteArray],
    variant: int = 0,
) -> ConcreteArray:
    spec = terms.spec
    shape, strides = layout(array, values)
    contents: Mapping[int, int] = {}
    if array.dtype[0] in "iu":
        further = _further(array, shape, terms, values, source, filled) if variant >= VARIANTS else None
        if has_rich_facts(array.name, spec) and product_of(shape) > LARGEST_CONTENTS:
            contents = {}
        elif further is not None:
            contents = dict(enumerate(map(int, further)))
        elif has_rich_facts(array.name, spec):
            known_values = {**values, **terms.layouts(values)}
            seed = source.randrange(1 << 30)
            made = rich_contents(array.name, array.dtype, shape, spec, known_values, seed, _known(filled), variant)
            contents = dict(enumerate(map(int, made)))
        else:
            contents = _contents(array, spec, {**values, **terms.layouts(values)}, source, product_of(shape), variant)
    allocation, offset = place or ("", 0)
    return ConcreteArray(array.dtype, shape, strides, contents, 0, allocation, offset * ELEMENT_BYTES[array.dtype])


def _known(filled: Mapping[str, ConcreteArray]) -> dict[str, NDArray[Any]]:
    return {name: np.array(list(array.contents.values()), np.int64) for name, array in filled.items()}


def _further(
    array: ArrayArgument, shape: Sequence[int], terms: Terms, values: Mapping[str, int], source: random.Random,
    filled: Mapping[str, ConcreteArray],
) -> NDArray[Any] | None:  # fmt: skip
    if not said(array.name, terms.spec) or not 0 < product_of(shape) <= LARGEST_CONTENTS:
        return None
    known_values = {**values, **terms.layouts(values)}
    return further_contents(array.name, array.dtype, shape, terms.spec, known_values, source, _known(filled))


def _distinct(array: ArrayArgument, source: random.Random, among: range, count: int) -> list[int]:
    if len(among) < count:
        raise UsageError(f"no contents of {array.name} are {count} numbers of {len(among)}")
    return source.sample(among, count)


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
    drawn = (
        _distinct(array, source, range(low, high), count)
        if distinct
        else [source.randrange(low, high) for _ in range(count)]
    )
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
