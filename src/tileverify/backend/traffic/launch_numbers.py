"""Launches of a contract as numbers alone, without memory for their arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Final

from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import Apply, ConcreteArray, ConcreteLaunch, Expression, Name, Number, strides_of
from ...frontend.bytecode.model import Entry
from ..audit.legal_launches import AXES, SCALARS, SIZES, drawn_values, tile_sizes
from ..numbers.choose import ContractInNumbers, Palette, check_given, draw, scalars

SMALL: Final = 18
LARGE: Final = 14
MOST_ELEMENTS: Final = 1 << 34
MOST_BLOCKS: Final = 1 << 14
TRIES: Final = 300
FEW_TRIES: Final = 200
TRIES_OF_STRIDES: Final = 50
ELEMENTS_OF_STRIDES: Final = 1 << 12
"""Where strides have names: whether elements of an array are apart is then found out one by one."""
MOST_BEYOND: Final = 5
TRIES_BEYOND: Final = 40
FARTHEST: Final = 1 << 24
"""Larger sizes are not made up."""
USUAL: Final = (4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
"""What a size is where nobody says one, the first that the contract allows."""
THOUSANDS: Final = (*USUAL[:5], 8192, 16384, 1000, 3000, 4097, 1023, 5000, 777)
MAKESHIFT: Final = (1, 2, 4, 8, 16, 32, 64, 128, 0, -1)
"""What a scalar is where nobody says one."""


@dataclass(frozen=True, slots=True)
class SizedLaunch:
    """One launch: ``values`` of the names that are free in the contract, and all that follows from them."""

    values: Mapping[str, int]
    launch: ConcreteLaunch


def sized(contract: ContractInNumbers, values: Mapping[str, int]) -> SizedLaunch:
    """The launch in which the free names have ``values``."""
    arrays = {}
    for array in contract.spec.arrays():
        shape = tuple(contract.value(size, values) for size in array.shape)
        strides = tuple(contract.value(stride, values) for stride in strides_of(array))
        arrays[array.name] = ConcreteArray(array.dtype, shape, strides)
    numbers = {
        each.name: contract.value(Name(each.name), values)
        for each in scalars(contract.spec)
        if ELEMENT_TYPES[each.dtype].kind != "f"
    }
    x, y, z = (contract.value(axis, values) for axis in contract.grid)
    return SizedLaunch(values, ConcreteLaunch((x, y, z), arrays, numbers))


def usual_launch(contract: ContractInNumbers, given: Mapping[str, int]) -> SizedLaunch | None:
    """A launch with the sizes that are given, and usual ones for the rest; ``None`` if none was found.

    :raises UsageError: what is given breaks the contract.
    """
    check_given(contract, given)
    sizes = [name for name in contract.sizes if name not in given]
    for tried in ((size,) for size in USUAL):
        values = _drawn(contract, tried, given)
        if values is not None and all(values[name] == tried[0] for name in sizes):
            return sized(contract, values)
    found = (_drawn(contract, USUAL[first:], given) for first in range(len(USUAL)))
    return next((sized(contract, values) for values in found if values is not None), None)


def _drawn(contract: ContractInNumbers, sizes: Sequence[int], given: Mapping[str, int]) -> Mapping[str, int] | None:
    palette = Palette(sizes, MAKESHIFT, (16, *AXES))
    return draw(
        contract,
        palette,
        elements=min(1 << 28, _most_elements(contract)),
        blocks=1 << 16,
        tries=_tries(contract),
        given=given,
    )


def small_values(contract: ContractInNumbers, entry: Entry) -> list[Mapping[str, int]]:
    """Free names of different small launches, at the borders of tiles."""
    return _different(islice(drawn_values(contract, entry, SMALL, Counter(), FEW_TRIES), SMALL))


def large_values(contract: ContractInNumbers, entry: Entry, thresholds: Iterable[int]) -> list[Mapping[str, int]]:
    """The same with sizes of thousands, of all kinds, and sizes around ``thresholds``, also counted in tiles."""
    tiles = tile_sizes(entry)
    turning = sorted({*thresholds, *(each for axis in contract.grid for each in numbers_in(axis))})
    whole = {number * tile for number in turning for tile in (1, *tiles) if number * tile <= FARTHEST}
    beyond = [size for each in sorted(whole)[-MOST_BEYOND:] for size in (each + 1, 2 * each + 5, 3 * each - 1)]
    return _different((*_large(contract, tiles), *_beyond(contract, beyond)))


def _different(values: Iterable[Mapping[str, int]]) -> list[Mapping[str, int]]:
    return list({tuple(sorted(each.items())): each for each in values}.values())


def _beyond(contract: ContractInNumbers, sizes: Sequence[int]) -> Iterator[Mapping[str, int]]:
    """One size at a time behind a threshold, the others as they come."""
    for number, size in enumerate(sizes):
        for name in contract.sizes:
            palette = Palette((100, 65, 33, 9, 1), SCALARS, (*AXES, 16, 64), Random(number))
            given = {name: size}
            if any(condition.broken_by(given) for condition in contract.conditions):
                continue
            values = draw(
                contract,
                palette,
                elements=_most_elements(contract),
                blocks=MOST_BLOCKS,
                tries=TRIES_BEYOND,
                given=given,
            )
            if values is not None:
                yield values


def _large(contract: ContractInNumbers, tiles: Sequence[int]) -> Iterator[Mapping[str, int]]:
    around = [size + step for tile in tiles for size in (3 * tile, 17 * tile, 40 * tile) for step in (-1, 0, 1)]
    for number in range(LARGE):
        source = Random(number)
        sizes = [*THOUSANDS, *around, *(source.randrange(1, 9000) for _ in range(8)), *SIZES]
        palette = Palette(tuple(dict.fromkeys(sizes)), SCALARS, (*AXES, 16, 64), source)
        values = draw(contract, palette, elements=_most_elements(contract), blocks=MOST_BLOCKS, tries=_tries(contract))
        if values is not None:
            yield values


def numbers_in(expression: Expression) -> Iterator[int]:
    """The numbers of more than one that an expression is written with."""
    if isinstance(expression, Number):
        if expression.value > 1:
            yield expression.value
    elif isinstance(expression, Apply):
        for each in expression.args:
            yield from numbers_in(each)


def _tries(contract: ContractInNumbers) -> int:
    return TRIES_OF_STRIDES if _names_strides(contract) else TRIES


def _most_elements(contract: ContractInNumbers) -> int:
    return ELEMENTS_OF_STRIDES if _names_strides(contract) else MOST_ELEMENTS


def _names_strides(contract: ContractInNumbers) -> bool:
    return any(array.strides is not None for array in contract.spec.arrays())
