"""Conflicts in access logs, by the memory model: between two blocks, inside one block, inside one store.

Program order orders nothing.  Inside a block, an access comes after those its token waits for; between blocks only a
release that an acquire may have observed orders anything.  Two scoped accesses may meet only where they are of one
width: as in the PTX memory model, from which this one is derived, operations that overlap in a part are not morally
strong.
Source: Tile IR specification, memory model (13.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final, TypeAlias

import numpy as np

from ...frontend.bytecode.enums import MemoryOrdering, MemoryScope
from ...frontend.bytecode.model import Block, Op
from ...results.codes import TV
from .access_log import BlockLog, DynamicAccess, Footprint
from .machine import Budget
from .values import Array

PAIR_COST: Final = 1 << 15
"""Steps that comparing two footprints costs."""

COVERS_BLOCKS: Final = frozenset({MemoryScope.DEVICE, MemoryScope.SYSTEM})
RELEASES: Final = frozenset({MemoryOrdering.RELEASE, MemoryOrdering.ACQ_REL})
ACQUIRES: Final = frozenset({MemoryOrdering.ACQUIRE, MemoryOrdering.ACQ_REL})


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses that touch the byte at ``address``; ``second`` is ``None`` for two lanes of one store."""

    first: DynamicAccess
    second: DynamicAccess | None
    address: int


def common_byte(first: Footprint, second: Footprint) -> int | None:
    """The lowest byte that both touch."""
    if first.low >= second.end or second.low >= first.end:
        return None
    (starts, ends), (other_starts, other_ends) = first.runs, second.runs
    after = np.searchsorted(other_ends, starts, side="right")  # the first run that ends behind each start
    within = np.minimum(after, len(other_starts) - 1)
    meets = np.flatnonzero((after < len(other_starts)) & (other_starts[within] < ends))
    if not len(meets):
        return None
    return int(max(starts[meets[0]], other_starts[within[meets[0]]]))


def conflicting_byte(first: DynamicAccess, second: DynamicAccess) -> int | None:
    """The lowest byte that both touch and at least one writes."""
    found = (
        common_byte(mine, other)
        for mine in first.footprints
        for other in second.footprints
        if mine is first.writes or other is second.writes
    )
    return min((byte for byte in found if byte is not None), default=None)


def _examine(first: DynamicAccess, second: DynamicAccess, budget: Budget | None) -> int | None:
    """`conflicting_byte` at its price."""
    if budget is not None:
        budget.spend(PAIR_COST)
    return conflicting_byte(first, second)


def equal_elements(first: DynamicAccess, second: DynamicAccess) -> Array:
    """The addresses of elements in which both leave the same bits, where the launch allows that.

    An element that one of them stores twice is none of them: its lanes have no order.
    """
    one, other = first.stored, second.stored
    if one is None or other is None or first.width != second.width:
        return np.zeros(0, np.int64)
    assert first.writes is not None
    assert second.writes is not None
    mine, theirs = _once(first.writes.addresses()), _once(second.writes.addresses())
    at = np.intersect1d(first.writes.addresses()[mine], second.writes.addresses()[theirs])
    places = [
        lanes[np.searchsorted(addresses[lanes], at)]
        for lanes, addresses in ((mine, first.writes.addresses()), (theirs, second.writes.addresses()))
    ]
    known = ~one.open[places[0]] & ~other.open[places[1]]
    return np.asarray(at[known & (one.bits[places[0]] == other.bits[places[1]])])


def _once(addresses: Array) -> Array:
    """The lanes, in the order of their addresses, whose address no other lane has."""
    order = np.argsort(addresses, kind="stable")
    sorted_, inner = addresses[order], np.ones(len(addresses), np.bool_)
    inner[1:] &= sorted_[1:] != sorted_[:-1]
    inner[:-1] &= sorted_[:-1] != sorted_[1:]
    return np.asarray(order[inner])


def differing_byte(first: DynamicAccess, second: DynamicAccess, byte: int) -> int | None:
    """The lowest byte on which two accesses conflict, ``byte`` at the earliest, and do not leave equal values."""
    if first.stored is None or second.stored is None or first.writes is None or second.writes is None:
        return byte
    common = np.intersect1d(first.writes.addresses(), second.writes.addresses())
    if first.width != second.width or not len(common):
        return byte
    left = np.setdiff1d(common, equal_elements(first, second))
    return int(left[0]) if len(left) else None


class AccessColumns:
    """Columns over the accesses of a log, for filtering pairs before they are examined."""

    def __init__(self, accesses: Sequence[DynamicAccess]) -> None:
        self.low = np.array([a.low for a in accesses], np.int64)
        self.end = np.array([a.end for a in accesses], np.int64)
        self.weak = np.array([a.weak for a in accesses], np.bool_)
        self.writes = np.array([a.writes is not None for a in accesses], np.bool_)
        self.covers = np.array([a.scope in COVERS_BLOCKS for a in accesses], np.bool_)
        self.width = np.array([a.width for a in accesses], np.int64)

    def meets(self, access: DynamicAccess) -> Array:
        """Whose address range meets that of ``access``, where at least one of the two writes."""
        meets = (self.low < access.end) & (self.end > access.low)
        return np.asarray(meets if access.writes is not None else meets & self.writes)

    def may_meet(self, access: DynamicAccess, scoped: Array) -> Array:
        """Which of the ``scoped`` accesses may meet ``access`` without an order, if that is scoped, too."""
        return np.asarray(scoped & (self.width == access.width))


# ---------------------------------------------------------------------------------------- between blocks
def race_code(first: DynamicAccess, second: DynamicAccess) -> TV:
    """TV103 where an ordered (scoped) access takes part; else TV101 for two writes, TV102 for a read and a write."""
    if not (first.weak and second.weak):
        return TV.RACE_ATOMIC_MIXED
    return TV.RACE_WRITE_WRITE if first.writes is not None and second.writes is not None else TV.RACE_READ_WRITE


@dataclass(frozen=True, slots=True)
class Synchronisation:
    """Releases of the earlier block and acquires of the later one on one location, as bit sets of accesses.

    ``published``: the releases and all they wait for.  ``acquires``: the acquires themselves.
    """

    published: int
    acquires: int

    def orders(self, earlier: DynamicAccess, later: DynamicAccess) -> bool:
        return bool(self.published >> earlier.number & 1 and self.acquires & (later.waits | 1 << later.number))


def synchronisations(earlier: BlockLog, later: BlockLog) -> list[Synchronisation]:
    """What may synchronise if ``later`` runs after ``earlier``.

    Whether an acquire really observed a release is not asked, and all executions of one op on one address range count
    as one: an order too many only hides a race, it never makes one.
    """
    releases = _by_place(a for a in earlier.accesses if a.ordering in RELEASES and a.scope in COVERS_BLOCKS)
    acquires = _by_place(a for a in later.accesses if a.ordering in ACQUIRES and a.scope in COVERS_BLOCKS)
    return [
        Synchronisation(reduce(or_, (r.waits | 1 << r.number for r in left)), sum(1 << a.number for a in right))
        for (_, low, end), left in releases.items()
        for (_, other_low, other_end), right in acquires.items()
        if low < other_end and other_low < end
    ]


def _by_place(accesses: Iterable[DynamicAccess]) -> dict[tuple[Op, int, int], list[DynamicAccess]]:
    places: dict[tuple[Op, int, int], list[DynamicAccess]] = {}
    for access in accesses:
        places.setdefault((access.op, access.low, access.end), []).append(access)
    return places


Order: TypeAlias = "Callable[[DynamicAccess, DynamicAccess], bool]"


def races(
    code: TV, first: Sequence[DynamicAccess], second: Sequence[DynamicAccess], ordered: Order,
    budget: Budget | None = None,
) -> Iterator[Conflict]:  # fmt: skip
    """The conflicts of kind ``code`` between accesses of two blocks that ``ordered`` does not order."""
    table = AccessColumns(second)
    for mine in first:
        pairs = table.meets(mine) & ((table.weak & mine.weak) == (code != TV.RACE_ATOMIC_MIXED))
        if mine.scope in COVERS_BLOCKS:
            pairs &= ~table.may_meet(mine, table.covers)
        for number in np.flatnonzero(pairs):
            other = second[int(number)]
            if race_code(mine, other) != code or ordered(mine, other):
                continue
            byte = _examine(mine, other, budget)
            if byte is not None and (byte := differing_byte(mine, other, byte)) is not None:
                yield Conflict(mine, other, byte)


# ------------------------------------------------------------------------------------------ inside a block
def loops_around(body: Block) -> dict[Op, tuple[Op, ...]]:
    """Every op of an entry with the loops around it, outermost first."""
    found: dict[Op, tuple[Op, ...]] = {}
    stack: list[tuple[Block, tuple[Op, ...]]] = [(body, ())]
    while stack:
        block, loops = stack.pop()
        for op in block.ops:
            found[op] = loops
            inner = (*loops, op) if op.declaration.body == "loop" else loops
            stack.extend((nested, inner) for region in op.regions for nested in region.blocks)
    return found


def unordered(log: BlockLog, loops: Mapping[Op, tuple[Op, ...]], budget: Budget | None = None) -> Iterator[Conflict]:
    """Pairs of one block that conflict without a token path (TV201); one of them is weak, or their widths differ.

    Not settled by the specification, and therefore not reported: an access behind a loop that waits for a later
    instance of the same op of that loop, as nvcc emits it.
    """
    table = AccessColumns(log.accesses)
    for second in log.accesses:
        pairs = table.meets(second) & ~members(second.waits, len(log.accesses))
        pairs[second.number :] = False
        if not second.weak:
            pairs &= ~table.may_meet(second, ~table.weak)
        for number in np.flatnonzero(pairs):
            first = log.accesses[int(number)]
            byte = _examine(first, second, budget)
            if byte is not None and not covered_by_loop_exit(log, loops, first, second):
                yield Conflict(first, second, byte)


def members(bits: int, count: int) -> Array:
    """A bit set of ``count`` numbers as a bool array."""
    packed = np.frombuffer(bits.to_bytes(-(-count // 8), "little"), np.uint8)
    return np.unpackbits(packed, count=count, bitorder="little").astype(np.bool_)


def covered_by_loop_exit(
    log: BlockLog, loops: Mapping[Op, tuple[Op, ...]], first: DynamicAccess, second: DynamicAccess
) -> bool:
    """``second`` stands behind a loop and waits for a later instance than ``first`` of an op in that loop."""
    left = [loop for loop in loops[first.op] if loop not in loops[second.op]]
    if not left:
        return False
    return any(a.op is first.op and a.number > first.number and a.orders(second) for a in log.accesses)


def doubled_lanes(log: BlockLog) -> Iterator[Conflict]:
    """Weak stores with two live lanes on one byte (TV202)."""
    for access in log.accesses:
        if access.kind != "store" or not access.weak or access.writes is None:
            continue
        addresses = np.sort(access.writes.addresses())
        same = np.flatnonzero(addresses[1:] == addresses[:-1])
        if len(same):
            yield Conflict(access, None, int(addresses[same[0]]))
