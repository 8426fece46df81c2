"""Conflicts in access logs, by the memory model: between two blocks, inside one block, inside one store.

Program order orders nothing.  Inside a block, an access comes after those its token waits for; between blocks only a
release that an acquire may have observed orders anything.  Source: Tile IR specification, memory model (13.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from ...frontend.bytecode.model import Block, Op
from .access_log import BlockLog, DynamicAccess, Footprint
from .values import Array

COVERS_BLOCKS: Final = frozenset({"device", "sys"})
RELEASES: Final = frozenset({"release", "acq_rel"})
ACQUIRES: Final = frozenset({"acquire", "acq_rel"})


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses that touch the byte at ``address``; ``second`` is ``None`` for two lanes of one store."""

    first: DynamicAccess
    second: DynamicAccess | None
    address: int


def _bytes(footprint: Footprint, width: int) -> Array:
    """Every byte address of a footprint, ascending."""
    starts = np.unique(footprint.addresses())
    return np.unique((starts[:, None] + np.arange(width)).reshape(-1)) if width > 1 else starts


def common_byte(first: Footprint, first_width: int, second: Footprint, second_width: int) -> int | None:
    """The lowest byte that both touch."""
    if first.low >= second.high + second_width or second.low >= first.high + first_width:
        return None
    if first_width == second_width:
        # Elements are aligned to their size, so equal sizes meet only in equal elements.
        common = np.intersect1d(first.addresses(), second.addresses())
    else:
        common = np.intersect1d(_bytes(first, first_width), _bytes(second, second_width))
    return int(common[0]) if len(common) else None


def conflicting_byte(first: DynamicAccess, second: DynamicAccess) -> int | None:
    """The lowest byte that both touch and at least one writes."""
    pairs = [(mine, other) for mine in first.footprints for other in second.footprints]
    found = (
        common_byte(mine, first.element_bytes, other, second.element_bytes)
        for mine, other in pairs
        if mine is first.writes or other is second.writes
    )
    return min((byte for byte in found if byte is not None), default=None)


# ---------------------------------------------------------------------------------------- between blocks
def adequate(first: DynamicAccess, second: DynamicAccess) -> bool:
    """Both atomic (or at least relaxed) with scopes that cover both blocks: never a race."""
    return first.scope in COVERS_BLOCKS and second.scope in COVERS_BLOCKS


def race_code(first: DynamicAccess, second: DynamicAccess) -> str:
    """TV103 where an ordered (scoped) access takes part; else TV101 for two writes, TV102 for a read and a write."""
    if not (first.weak and second.weak):
        return "TV103"
    return "TV101" if first.writes is not None and second.writes is not None else "TV102"


@dataclass(frozen=True, slots=True)
class Synchronisation:
    """A release of the earlier block and an acquire of the later one on one location."""

    release: DynamicAccess
    acquire: DynamicAccess

    def orders(self, earlier: DynamicAccess, later: DynamicAccess) -> bool:
        before = earlier is self.release or earlier.orders(self.release)
        return before and (later is self.acquire or self.acquire.orders(later))


def synchronisations(earlier: BlockLog, later: BlockLog) -> list[Synchronisation]:
    """Every pair that may synchronise if ``later`` runs after ``earlier``.

    Whether the acquire really observed the release is not asked: a pair too many only hides a race, never makes one.
    """
    releases = [a for a in earlier.accesses if a.ordering in RELEASES and a.scope in COVERS_BLOCKS]
    acquires = [a for a in later.accesses if a.ordering in ACQUIRES and a.scope in COVERS_BLOCKS]
    return [Synchronisation(r, a) for r in releases for a in acquires if conflicting_byte(r, a) is not None]


Order: TypeAlias = "Callable[[DynamicAccess, DynamicAccess], bool]"


def races(
    code: str, first: Sequence[DynamicAccess], second: Sequence[DynamicAccess], ordered: Order
) -> Iterator[Conflict]:
    """The conflicts of kind ``code`` between accesses of two blocks that ``ordered`` does not order."""
    for mine, other in _meeting(first, second):
        if mine.writes is None and other.writes is None:
            continue
        if adequate(mine, other) or race_code(mine, other) != code or ordered(mine, other):
            continue
        byte = conflicting_byte(mine, other)
        if byte is not None:
            yield Conflict(mine, other, byte)


def _meeting(
    first: Sequence[DynamicAccess], second: Sequence[DynamicAccess]
) -> Iterator[tuple[DynamicAccess, DynamicAccess]]:
    """Pairs whose address ranges meet, found by sorting on the lowest address."""
    lows = np.array([a.low for a in second], np.int64)
    highs = np.array([a.high for a in second], np.int64)
    for access in first:
        for number in np.flatnonzero((lows < access.high) & (highs > access.low)):
            yield access, second[int(number)]


# ------------------------------------------------------------------------------------------ inside a block
def loops_around(body: Block) -> dict[Op, tuple[Op, ...]]:
    """Every op of an entry with the loops around it, outermost first."""
    found: dict[Op, tuple[Op, ...]] = {}
    stack: list[tuple[Block, tuple[Op, ...]]] = [(body, ())]
    while stack:
        block, loops = stack.pop()
        for op in block.ops:
            found[op] = loops
            inner = (*loops, op) if op.name in ("for", "loop") else loops
            stack.extend((nested, inner) for region in op.regions for nested in region.blocks)
    return found


def unordered(log: BlockLog, loops: dict[Op, tuple[Op, ...]]) -> Iterator[Conflict]:
    """Pairs of one block that conflict without a token path (TV201); at least one of them is weak.

    Not settled by the specification, and therefore not reported: an access behind a loop that waits for a later
    instance of the same op of that loop, as nvcc emits it.
    """
    writes = [a for a in log.accesses if a.writes is not None]
    for write, other in _meeting(writes, log.accesses):
        if other is write or (other.writes is not None and other.number < write.number):
            continue
        first, second = (write, other) if write.number < other.number else (other, write)
        if first.orders(second) or not (first.weak or second.weak):
            continue
        byte = conflicting_byte(first, second)
        if byte is not None and not _covered_by_loop_exit(log, loops, first, second):
            yield Conflict(first, second, byte)


def _covered_by_loop_exit(
    log: BlockLog, loops: dict[Op, tuple[Op, ...]], first: DynamicAccess, second: DynamicAccess
) -> bool:
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
