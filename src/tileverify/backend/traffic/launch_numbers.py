"""Launches of a contract as numbers alone, without memory for their arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Final

from ...contract.concrete import ConcreteArray, ConcreteLaunch
from ...contract.element_types import ELEMENT_TYPES
from ...contract.launch import Name
from ...contract.strides import strides_of
from ...frontend.bytecode.model import Entry
from ..audit.legal_launches import AXES, SCALARS, SIZES, drawn_values, tile_sizes
from ..numbers.choose import Palette, check_given, draw
from ..numbers.conditions import ContractInNumbers, scalars

SMALL: Final = 18
LARGE: Final = 14
MOST_ELEMENTS: Final = 1 << 34
MOST_BLOCKS: Final = 1 << 16
TRIES: Final = 1000
TRIES_OF_STRIDES: Final = 50
"""Where strides have names: whether elements of an array are apart is then found out one by one."""
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
    return draw(contract, palette, elements=1 << 28, blocks=1 << 16, tries=_tries(contract), given=given)


def small_values(contract: ContractInNumbers, entry: Entry) -> list[Mapping[str, int]]:
    """Free names of different small launches, at the borders of tiles."""
    return _different(islice(drawn_values(contract, entry, SMALL, Counter()), SMALL))


def large_values(contract: ContractInNumbers, entry: Entry) -> list[Mapping[str, int]]:
    """The same with sizes of thousands, of all kinds."""
    return _different(_large(contract, entry))


def _different(values: Iterable[Mapping[str, int]]) -> list[Mapping[str, int]]:
    return list({tuple(sorted(each.items())): each for each in values}.values())


def _large(contract: ContractInNumbers, entry: Entry) -> Iterator[Mapping[str, int]]:
    tiles = tile_sizes(entry)
    around = [size + step for tile in tiles for size in (3 * tile, 17 * tile, 40 * tile) for step in (-1, 0, 1)]
    for number in range(LARGE):
        source = Random(number)
        sizes = [*THOUSANDS, *around, *(source.randrange(1, 9000) for _ in range(8)), *SIZES]
        palette = Palette(tuple(dict.fromkeys(sizes)), SCALARS, (*AXES, 16, 64), source)
        values = draw(contract, palette, elements=MOST_ELEMENTS, blocks=MOST_BLOCKS, tries=_tries(contract))
        if values is not None:
            yield values


def _tries(contract: ContractInNumbers) -> int:
    named = any(array.strides is not None for array in contract.spec.arrays())
    return TRIES_OF_STRIDES if named else TRIES
