"""Launches of a contract for a second reading: its borders first, then drawn ones; always the same for one contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from random import Random
from typing import Final

from ...contract.element_types import ELEMENT_TYPES
from ...errors import UsageError
from ...frontend.bytecode.model import Entry, TileType
from ...frontend.bytecode.traverse import walk
from ..numbers.choose import Palette, choose, draw
from ..numbers.conditions import ContractInNumbers
from ..numbers.inputs import Given, Inputs, make_inputs

ELEMENTS: Final = 1 << 14
"""Elements of an array of a drawn launch."""
BLOCKS: Final = 64
MOST_ELEMENTS: Final = 1 << 22
"""Elements of all arrays of all launches; one launch is made however large it is."""
TRIES: Final = 1500
"""Values that are tried for one launch."""
SIZES: Final = (2, 3, 4, 5, 7, 8, 16, 17, 31, 33, 64, 65, 100, 127, 129, 200, 256, 300, 512, 1025)
SCALARS: Final = (-1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100, 128, 1000)
AXES: Final = (2, 3, 1, 5, 4)


def drawn(contract: ContractInNumbers, entry: Entry, count: int, not_made: Counter[str]) -> Iterator[Inputs]:
    """At most ``count`` different launches; what kept one from being made is counted in ``not_made``.

    :raises UsageError: no launch of the contract was found.
    """
    seen: Counter[tuple[tuple[str, int], ...]] = Counter()
    contents = _contents_matter(contract)
    left = MOST_ELEMENTS
    made = failures = 0
    for number, values in enumerate(_values(contract, entry, count)):
        key = tuple(sorted(values.items()))
        if seen[key] and not contents:
            continue
        seen[key] += 1
        try:
            inputs = make_inputs(contract, Given(values, {}, {}, None, number))
        except UsageError as error:
            if not made and not failures:
                not_made[f"a launch that could not be made: {error.message}"] += 1
            failures += 1
            continue
        yield inputs
        made += 1
        left -= sum(prod(array.shape) for _, array in inputs.launch.named_arrays())
        if made == count:
            return
        if left < 0:
            not_made[f"launches beyond {MOST_ELEMENTS} elements in all arrays together"] += count - made
            return


def _values(contract: ContractInNumbers, entry: Entry, count: int) -> Iterator[dict[str, int]]:
    """Values for the names of the contract, some more than once."""
    tiles = _tile_sizes(entry)
    borders = [0, 1, *(size for tile in tiles for size in (tile - 1, tile, tile + 1, 2 * tile + 1))]
    largest = [64 * size for size in (64, 32, 16, 8, 4, 2, 1)]
    sizes = tuple(dict.fromkeys((*SIZES, *(size for size in borders if size > 1))))
    whole = tuple(dict.fromkeys((*tiles, *SIZES)))
    yield choose(contract, {})
    for border in dict.fromkeys(borders):
        values = _drawn(contract, Palette((border, *whole, 1, 0), (border, *SCALARS, 0, 1), AXES))
        if values is not None:
            yield values
    values = _drawn(contract, Palette((*largest, *whole), (*largest, *SCALARS, 0, 1), tuple(reversed(AXES))))
    if values is not None:
        yield values
    for number in range(4 * count):
        source = Random(number)
        values = _drawn(contract, Palette((*sizes, 0, 1), (*SCALARS, *tiles, 0, 1), AXES, source))
        if values is not None:
            yield values
        elif number >= 8:
            break
    while True:  # other contents, where they matter
        yield choose(contract, {})
        count -= 1
        if count < 0:
            return


def _drawn(contract: ContractInNumbers, palette: Palette) -> dict[str, int] | None:
    return draw(contract, palette, elements=ELEMENTS, blocks=BLOCKS, tries=TRIES)


def _contents_matter(contract: ContractInNumbers) -> bool:
    """Whether a launch of the same sizes may do something else: integers are read, or a list has sizes of its own."""
    described = [*contract.spec.arrays()]
    return any(ELEMENT_TYPES[array.dtype].kind != "f" for array in described)


def _tile_sizes(entry: Entry) -> list[int]:
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
