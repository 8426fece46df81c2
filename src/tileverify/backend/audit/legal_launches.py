"""Launches of a contract for a second reading: its borders first, then drawn ones; always the same for one contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from math import prod
from random import Random
from typing import Final

from ...contract.element_types import ELEMENT_TYPES
from ...contract.expressions import constant_value
from ...contract.launch import ConcreteArray, strides_of
from ...frontend.bytecode.model import Entry, TileType
from ...frontend.bytecode.traverse import walk
from ...system.errors import UsageError
from ..numbers.choose import ContractInNumbers, Palette, choose, draw, extents
from ..numbers.inputs import Given, Inputs, make_inputs

ELEMENTS: Final = 1 << 14
"""Elements of an array of a drawn launch."""
BLOCKS: Final = 64
MOST_ELEMENTS: Final = 1 << 22
"""Elements of all arrays of all launches together."""
LARGEST: Final = 1 << 24
"""Elements of all arrays of one launch; a larger one is not made."""
TRIES: Final = 1500
"""Values that are tried for one launch."""
BLANK: Final = 1 << 16
"""Larger arrays of floats hold zeros, and take no memory."""
PART: Final = 16
"""Of a tile, where sizes are multiples of it."""
LARGE: Final = (4096, 2048, 1024, 512, 256, 128)
FEW: Final = 8
"""So many drawn launches are tried where none comes out."""
SMALL: Final = (2, 1, 3, 4, 8, 16, 32, 64, 128)
SIZES: Final = (2, 3, 4, 5, 7, 8, 16, 17, 31, 33, 64, 65, 100, 127, 129, 200, 256, 300, 512, 1025)
SCALARS: Final = (-1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100, 128, 1000)
AXES: Final = (2, 3, 1, 5, 4)


def drawn(contract: ContractInNumbers, entry: Entry, count: int, not_made: Counter[str]) -> Iterator[Inputs]:
    """At most ``count`` different launches; what kept others from being made is counted in ``not_made``."""
    problems: Counter[str] = Counter()
    return _made(contract, drawn_values(contract, entry, count, problems), count, not_made, problems)


def covering(contract: ContractInNumbers, entry: Entry, count: int) -> Iterator[Inputs]:
    """At most ``count`` different launches, those first in which most of the entry is executed: all sizes beyond two
    tiles, then one size after the other beyond four and the rest small, then those of `drawn`."""
    problems: Counter[str] = Counter()
    values = chain(_long_values(contract, entry), drawn_values(contract, entry, count, problems))
    return _made(contract, values, count, Counter(), problems)


def _made(
    contract: ContractInNumbers, chosen: Iterator[Mapping[str, int]], count: int, not_made: Counter[str],
    problems: Counter[str],
) -> Iterator[Inputs]:  # fmt: skip
    """The launches with ``chosen`` values, each once."""
    contents = _contents_matter(contract)
    seen: set[tuple[tuple[str, int], ...]] = set()
    left, made = MOST_ELEMENTS, 0
    for number, values in enumerate(chosen):
        key = tuple(sorted(values.items()))
        if key in seen and not contents:
            continue
        seen.add(key)
        if elements_in_memory(contract, values) > LARGEST:
            problems[f"a launch of more than {LARGEST} elements"] += 1
            continue
        try:
            inputs = make_inputs(contract, Given(values, {}, {}, None, number, BLANK))
        except UsageError as error:
            problems[f"a launch whose contents were not found: {error.message}"] += 1
            continue
        yield inputs
        made += 1
        left -= sum(array.size for array in inputs.memory.values())
        if made == count:
            return
        if left < 0:
            not_made[f"launches beyond {MOST_ELEMENTS} elements in all arrays together"] += count - made
            return
    if not made:
        not_made.update(problems)


def _long_values(contract: ContractInNumbers, entry: Entry) -> Iterator[Mapping[str, int]]:
    tile = max(tile_sizes(entry), default=1)
    large = (2 * tile + 1, 2 * tile + PART, 2 * tile, *LARGE, *SIZES, 1, 0)
    all_large = Palette(large, (*large[:3], *SCALARS, 0, 1), AXES, outer=SMALL)
    others = Palette(SMALL, (*SCALARS, 0, 1), AXES)
    rounds: list[tuple[Palette, list[dict[str, int]]]] = [(all_large, [{}])]
    for name in reversed(extents(contract)):
        rounds.append((others, [{name: size} for size in (4 * tile + 1, 4 * tile + PART, 4 * tile, 2 * tile, tile)]))
    for palette, ways in rounds:
        found = (
            draw(contract, palette, elements=4 * ELEMENTS, blocks=BLOCKS, tries=TRIES, given=given)
            for given in ways
        )  # fmt: skip
        yield from islice((values for values in found if values is not None), 1)


def drawn_values(
    contract: ContractInNumbers, entry: Entry, count: int, problems: Counter[str], tries: int = TRIES
) -> Iterator[Mapping[str, int]]:
    """Values for the names of the contract, some more than once; why there are none is counted in ``problems``."""
    try:
        yield choose(contract, {})
    except UsageError as error:
        problems[f"the contract: {error.message}"] += 1
    tiles = tile_sizes(entry)
    borders = [0, 1, *(size for tile in tiles for size in (tile - 1, tile, tile + 1, 2 * tile + 1))]
    whole = tuple(dict.fromkeys((*tiles, *SIZES)))
    palettes = [Palette((border, *whole, 1, 0), (border, *SCALARS, 0, 1), AXES) for border in dict.fromkeys(borders)]
    palettes.append(Palette((*LARGE, *whole), (*LARGE, *SCALARS, 0, 1), AXES[::-1]))
    palettes += [_mixed((*SIZES, *borders), (*SCALARS, *tiles, 0, 1), Random(number)) for number in range(4 * count)]
    found = 0
    for number, palette in enumerate(palettes):
        values = draw(contract, palette, elements=ELEMENTS, blocks=BLOCKS, tries=tries)
        if values is not None:
            found += 1
            yield values
        elif not found and number >= len(borders) + FEW:
            return


def _mixed(sizes: Sequence[int], scalars: Sequence[int], source: Random) -> Palette:
    """Any of these in any order, among others that are drawn."""
    more = [source.randrange(2, 1 << source.randrange(3, 12)) for _ in range(len(sizes) // 2)]
    return Palette(tuple(dict.fromkeys((*sizes, *more))), scalars, AXES, source)


def elements_in_memory(contract: ContractInNumbers, values: Mapping[str, int]) -> int:
    """Elements from the first to the last one of the arrays that take memory; of a list's where they are numbers."""
    total = 0
    for listed in contract.spec.lists():
        sizes = [constant_value(size) for size in listed.element.shape]
        if None not in sizes:
            total += contract.value(listed.length, values) * prod(size for size in sizes if size is not None)
    for array in contract.spec.arrays():
        shape = tuple(contract.value(size, values) for size in array.shape)
        strides = tuple(contract.value(stride, values) for stride in strides_of(array))
        placed = ConcreteArray(array.dtype, shape, strides)
        if 0 not in shape and not Given({}, {}, {}, blank=BLANK).leaves_blank(placed):
            total += 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return total


def _contents_matter(contract: ContractInNumbers) -> bool:
    """Whether a launch of the same sizes may do something else: integers are read, or a list has sizes of its own."""
    arrays = [*contract.spec.arrays(), *(listed.element for listed in contract.spec.lists())]
    return any(ELEMENT_TYPES[array.dtype].kind != "f" for array in arrays)


def tile_sizes(entry: Entry) -> list[int]:
    """Extents of the tiles that the entry works with, the largest first; at most four."""
    found = {
        size
        for op in walk(entry.body)
        for value in op.results
        if isinstance(value.type, TileType)
        for size in value.type.shape
        if size > 1
    }
    return sorted(found, reverse=True)[:4]
