"""Launches of numbers: every size, every scalar, what index arrays hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

Block: TypeAlias = tuple[int, int, int]


def every_block(grid: Block) -> Iterator[Block]:
    """Of a launch, ``x`` fastest."""
    return ((x, y, z) for z, y, x in product(*(range(size) for size in reversed(grid))))


@dataclass(frozen=True, slots=True)
class ConcreteArray:
    """One array argument of a concrete launch.

    ``shape``/``strides`` in elements.  ``contents`` gives integer elements by linear *storage* index (element
    offset from the base pointer); all others are ``fill``.  ``allocation`` names the memory that the array lives
    in and ``byte_offset`` its place there: two arguments overlap only if they name one allocation.
    ``allocation_bytes`` is the size of that memory behind the array's first byte.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contents: Mapping[int, int] = field(default_factory=dict)
    fill: int = 0
    allocation: str = ""
    byte_offset: int = 0


@dataclass(frozen=True, slots=True)
class ConcreteLaunch:
    """Numbers for every argument of the entry, by the launch spec's argument names, and the grid.

    ``floats``: float scalars; one that is not named is 0, as no contract speaks of them.
    """

    grid: Block
    arrays: Mapping[str, ConcreteArray]
    scalars: Mapping[str, int]
    lists: Mapping[str, tuple[ConcreteArray, ...]] = field(default_factory=dict)
    floats: Mapping[str, float] = field(default_factory=dict)

    def named_arrays(self) -> Iterator[tuple[str, ConcreteArray]]:
        """Every array by its name, those of lists as ``xs[0]``."""
        yield from self.arrays.items()
        for name, arrays in self.lists.items():
            yield from ((f"{name}[{number}]", array) for number, array in enumerate(arrays))
