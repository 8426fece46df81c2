"""Small launches of a contract as it is written: sizes around the borders of tiles, no array empty.

They are chosen to differ: in each size, in which of two sizes is larger, in how many blocks an axis has.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from tests.corpus.fact_contents import as_observed
from tests.corpus.launches import Drawn, variants_of
from tests.corpus.values import Terms, arrays_of, choices_of, layout

from tileverify.contract.launch import (
    Apply,
    Block,
    ConcreteLaunch,
    ConstantArgument,
    Expression,
    LaunchSpec,
    Number,
    SameArray,
)

BELOW, FURTHER_BELOW = 1 << 12, 1 << 14
"""Every size is, where the contract has such launches; the same where more of them are looked at."""
FEW = (1, 2, 3, 5)
SCALARS = (-1, 0, -7)
"""Further values for signed scalars of which the contract says nothing."""
TRIES, ENOUGH = 4000, 80
"""Draws of sizes, most of which some contracts do not allow; launches among which to choose."""
MOST_BLOCKS = 24
MOST_ELEMENTS = 1 << 18


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the names of a contract stand for, and the grid that this gives."""

    values: Mapping[str, int]
    grid: Block
    elements: int

    def features(self) -> Iterator[object]:
        yield from self.values.items()
        yield from ((axis, min(blocks, 3)) for axis, blocks in enumerate(self.grid))
        for (first, one), (second, other) in combinations(self.values.items(), 2):
            yield first, second, (one > other) - (one < other)


def small_launches(
    spec: LaunchSpec, count: int, variants: int, seed: int = 1,
    admits: Callable[[Mapping[str, int]], bool] = lambda known: True, below: int = BELOW,
) -> list[Drawn]:  # fmt: skip
    """Up to ``count``, smallest first, each with ``variants`` contents of its index arrays.

    None where facts speak of one array under two names: contents are made for each name.
    """
    spoken = {name for fact in spec.data for name in fact.arrays}
    if any(len(group & spoken) > 1 for group in spec.same_arrays()):
        return []
    among = list(_sizes(spec, seed, admits, below)) or list(_sizes(spec, seed, admits, None))
    chosen = _different(among, count)
    found = []
    for number, each in enumerate(sorted(chosen, key=lambda one: (one.elements, prod(one.grid)))):
        x, y, z = map(Number, each.grid)
        drawn = variants_of(replace(spec, grid=(x, y, z)), each.values, variants, seed + number, admits)
        if drawn is not None:
            found.append(drawn)
    return found


def holds(spec: LaunchSpec, drawn: Drawn, admits: Callable[[Mapping[str, int]], bool]) -> bool:
    """Whether a launch of the contract keeps what ``admits`` asks for."""
    return Terms.of(as_observed(spec)).allows(drawn.values, drawn.launches[0].grid, admits)


def told(drawn: Drawn) -> str:
    sizes = ", ".join(f"{name} = {value}" for name, value in drawn.values.items())
    return f"{sizes or 'this launch'}, grid {drawn.launches[0].grid}"


def drawn_of(launches: Sequence[Drawn], launch: ConcreteLaunch) -> Drawn | None:
    return next((each for each in launches if launch in each.launches), None)


def _sizes(
    spec: LaunchSpec, seed: int, admits: Callable[[Mapping[str, int]], bool], below: int | None
) -> Iterator[Sizes]:
    source, spec = random.Random(seed), as_observed(spec)
    terms = Terms.of(spec)
    choices = choices_of(spec, borders(spec), SCALARS)
    if below is not None:
        choices = {name: tuple(value for value in values if value < below) for name, values in choices.items()}
    seen: set[tuple[int, ...]] = set()
    found: list[Sizes] = []
    large: list[Sizes] = []
    for _ in range(TRIES if choices or spec.grid is None else 1):
        values = {name: source.choice(numbers) for name, numbers in choices.items()}
        grid = terms.grid(values, source)
        if grid is None or (key := (*values.values(), *grid)) in seen:
            continue
        seen.add(key)
        elements = _elements(spec, values)
        if elements and terms.allows(values, grid, admits):
            small = elements <= MOST_ELEMENTS and prod(grid) <= MOST_BLOCKS
            (found if small else large).append(Sizes(values, grid, elements))
        if len(found) == ENOUGH:
            break
    yield from found or sorted(large, key=lambda each: each.elements)[:ENOUGH]


def _elements(spec: LaunchSpec, values: Mapping[str, int]) -> int:
    """Of all arrays together; 0 if one of them is empty, or has a size that is none."""
    counted = [layout(array, values)[0] for array in arrays_of(spec)]
    return 0 if any(size < 1 for shape in counted for size in shape) else sum(map(prod, counted))


def _different(found: list[Sizes], count: int) -> list[Sizes]:
    """Those that show most of what the ones before do not; among equals those with several blocks."""
    chosen: list[Sizes] = []
    seen: set[object] = set()
    while found and len(chosen) < count:
        best = max(found, key=lambda one: (sum(each not in seen for each in one.features()), prod(one.grid) > 1))
        found.remove(best)
        chosen.append(best)
        seen.update(best.features())
    return chosen


def borders(spec: LaunchSpec) -> tuple[int, ...]:
    """Sizes just below, at and just above one, two and three tiles, for every number of the contract."""
    tiles = {number for number in _numbers(spec) if 2 <= number < FURTHER_BELOW}
    near = {size for tile in tiles for size in (tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1, 3 * tile)}
    return tuple(sorted({*FEW, *near}))


def _numbers(spec: LaunchSpec) -> Iterator[int]:
    yield from (
        argument.value
        for argument in spec.arguments
        if isinstance(argument, ConstantArgument) and type(argument.value) is int
    )
    written = [*(spec.grid or ()), *(each for each in spec.requires if not isinstance(each, SameArray))]
    written += [size for array in arrays_of(spec) for size in array.shape]
    for expression in written:
        yield from _of(expression)


def _of(expression: Expression) -> Iterator[int]:
    if isinstance(expression, Number):
        yield expression.value
    if isinstance(expression, Apply):
        for argument in expression.args:
            yield from _of(argument)
