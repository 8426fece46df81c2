"""What the values of an index array steer in a kernel, as far as it says which facts a kernel may need."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..fact_kind import FactKind
from ..launch import DataFact, Expression, Number


class Group(enum.Enum):
    """Facts that are offered together, the most usual first."""

    LIMITS = enum.auto()
    ORDERS = enum.auto()
    PAIRS = enum.auto()
    MULTIPLES = enum.auto()
    VALUES = enum.auto()
    OTHERS = enum.auto()


Offers: TypeAlias = Iterator[tuple[Group, DataFact]]


@dataclass(frozen=True, slots=True)
class Steered:
    """``sizes``: how many places there are where a value of ``array`` is a coordinate, ``ends`` with that the ends of
    natural ranges, the largest first; ``others``: ends that might do; ``starts``: where ranges may begin but at 0;
    ``tiles``: sizes of the tiles accessed; ``excused``: numbers that values are compared with; ``places``: at how many
    indices values are loaded, ``fixed`` of them numbers; ``factors``: what parts of these are multiplied by;
    ``indexes``: they are part of the indices at which another array's values are loaded.
    """

    array: str
    rank: int
    sizes: Sequence[Expression]
    ends: Sequence[Expression]
    others: Sequence[Expression]
    starts: Sequence[int]
    tiles: Sequence[int]
    excused: Collection[Expression]
    places: int
    fixed: int
    factors: Sequence[int] = ()
    indexes: bool = False


def of_distinct_values(kind: FactKind, use: Steered) -> Offers:
    """Facts of a ``kind`` that says which values are different: below each size, or with one excused, or of all."""
    group = Group.VALUES if use.sizes else Group.OTHERS
    for size in reversed(use.sizes):
        yield group, DataFact(kind, use.array, Number(0), size)
    for value in use.excused:
        yield group, DataFact(kind, use.array, unless=(value,))
    yield group, DataFact(kind, use.array)
