"""What the values of an index array steer in a kernel, and which facts a kernel may need that uses them so.

The functions offer facts of one kind, the weakest first, by what is known of each of its arrays.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, TypeAlias

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
class AccessUse:
    """``sizes``: how many places there are where a value of ``array`` is a coordinate, ``ends`` with that the ends of
    natural ranges, the largest first; ``others``: ends that might do; ``starts``: where ranges may begin but at 0;
    ``tiles``: sizes of the tiles accessed; ``excused``: numbers that values are compared with; ``places``: at how many
    indices values are loaded, ``fixed`` of them numbers; ``factors``: what parts of these are multiplied by;
    ``indexes``: they are part of the indices at which another array's values are loaded; ``columns``: of a table with
    few, the ends that ranges of each may have; ``divisors``: numbers that parts of the accesses are divided by.
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
    columns: Sequence[Sequence[Expression]] = ()
    divisors: Sequence[int] = ()


MOST_BOUNDS: Final = 24
"""Upper ends that are tried for one array."""


def limits(kind: str, use: AccessUse) -> Offers:
    """Up to natural ends, up to others, and from where whole tiles are full; of tables after single columns."""
    for group, ends in ((Group.OTHERS if use.columns else Group.LIMITS, use.ends), (Group.OTHERS, use.others)):
        for end in ends[:MOST_BOUNDS]:
            for excused in (*((value,) for value in use.excused), ()):
                yield group, DataFact(kind, use.array, Number(0), end, unless=excused)
    for start, end in product(use.starts, (*use.ends[:2], *use.others[:2])):
        yield Group.OTHERS, DataFact(kind, use.array, Number(start), end)


def limits_of_columns(kind: str, use: AccessUse) -> Offers:
    """Of each column, up to its own ends and up to others."""
    for column, own in enumerate(use.columns):
        for group, ends in ((Group.LIMITS, own), (Group.OTHERS, use.others)):
            for end in ends[:MOST_BOUNDS]:
                yield group, DataFact(kind, use.array, Number(0), end, amount=Number(column))


def rows_once(kind: str, use: AccessUse) -> Offers:
    if use.columns:
        yield Group.ORDERS, DataFact(kind, use.array)


def different_values(kind: str, use: AccessUse) -> Offers:
    """Below each size, or with one excused, or of all."""
    group = Group.VALUES if use.sizes else Group.OTHERS
    for size in reversed(use.sizes):
        yield group, DataFact(kind, use.array, Number(0), size)
    for value in use.excused:
        yield group, DataFact(kind, use.array, unless=(value,))
    yield group, DataFact(kind, use.array)


def different_rows(kind: str, use: AccessUse) -> Offers:
    return different_values(kind, use) if use.rank > 1 else iter(())


def order(kind: str, use: AccessUse) -> Offers:
    """Where values of different indices are compared with something: of one alone it says nothing.

    The columns of a table rarely rise from one to the next.
    """
    if use.places > 1:
        yield Group.OTHERS if use.columns else Group.ORDERS, DataFact(kind, use.array)


def steps(kind: str, use: AccessUse) -> Offers:
    yield from ((Group.MULTIPLES, DataFact(kind, use.array, amount=Number(tile))) for tile in use.tiles)


def parts(kind: str, use: AccessUse) -> Offers:
    """Where a kernel adds values at indices that are numbers."""
    if use.fixed > 1:
        yield from ((Group.ORDERS, DataFact(kind, use.array, amount=size)) for size in use.sizes)


def segments(kind: str, first: AccessUse, second: AccessUse) -> Offers:
    for size in first.sizes if first.rank == second.rank == 1 else ():
        yield Group.PAIRS, DataFact(kind, first.array, Number(0), size, others=(second.array,))


def ranks(kind: str, first: AccessUse, second: AccessUse) -> Offers:
    """Chunks as large as a tile, of keys that are looked up in another array."""
    if first.rank == second.rank == 1 and first.sizes and second.indexes:
        for tile in first.tiles:
            yield Group.PAIRS, DataFact(kind, first.array, amount=Number(tile), others=(second.array,))


def chunks(kind: str, first: AccessUse, second: AccessUse) -> Offers:
    """As large as loops cut them, of segments between two values."""
    for tile in first.divisors if first.rank == second.rank == 1 and second.places > 1 else ():
        for size in first.sizes:
            found = DataFact(kind, first.array, Number(0), size, amount=Number(tile), others=(second.array,))
            yield Group.PAIRS, found


def buckets(kind: str, first: AccessUse, second: AccessUse) -> Offers:
    """Chunks as large as a tile, and as many buckets for each as numbers of chunks are multiplied by."""
    for tile, width in product(first.tiles, first.factors) if first.rank == second.rank == 1 else ():
        found = DataFact(kind, first.array, amount=Number(tile), width=Number(width), others=(second.array,))
        yield Group.PAIRS, found
        for size in first.sizes:
            yield Group.PAIRS, replace(found, low=Number(0), high=size)


OFFERED: Final[Mapping[str, Callable[..., Offers]]] = {
    "limits": limits,
    "limits of columns": limits_of_columns,
    "rows once": rows_once,
    "different values": different_values,
    "different rows": different_rows,
    "order": order,
    "steps": steps,
    "parts": parts,
    "segments": segments,
    "ranks": ranks,
    "chunks": chunks,
    "buckets": buckets,
}
"""By the name that entries in the table have for them."""
