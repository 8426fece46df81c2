"""The bytes that a piece of work reads and writes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import gcd
from typing import Final

FEW: Final = 16
"""Pairs of accesses that are looked at one by one: those of two launches, mostly."""


@dataclass(frozen=True, slots=True, order=True)
class ByteAccess:
    """Bytes ``start <= address < end`` of one address space; ``what`` names the argument in messages.

    With a ``period``, only those with ``(address - start) % period < width``: the rows of an array that lie apart.
    Unified addressing gives every device and the pinned memory of the host one address space.
    """

    start: int
    end: int
    write: bool
    what: str = ""
    period: int = 0
    width: int = 0

    def conflicts_with(self, other: ByteAccess) -> bool:
        """A byte may be in both, and at least one of both writes it."""
        return (
            (self.write or other.write)
            and self.start < other.end
            and other.start < self.end
            and self.start < self.end
            and other.start < other.end
            and not self._between(other)
        )

    # Modulo g, the gcd of the periods, the bytes of an access lie in [start, start + width).  Two such intervals on a
    # circle of length g share nothing  iff  the second begins behind the first and ends before that begins again.
    def _between(self, other: ByteAccess) -> bool:
        """Whether rows of one lie between rows of the other; what has no period is one row."""
        if not (self.period or other.period):
            return False
        circle = gcd(self.period, other.period)
        ahead = (other.start - self.start) % circle
        return self._row <= ahead and ahead + other._row <= circle

    @property
    def _row(self) -> int:
        return self.width if self.period else self.end - self.start


def merged(accesses: Iterable[ByteAccess]) -> tuple[ByteAccess, ...]:
    """Each once, without empty ranges and without reads of what is written as well; sorted."""
    kept = [access for access in dict.fromkeys(accesses) if access.start < access.end]
    whole = _Ranges([access for access in kept if access.write and not access.period])
    rows = {(access.start, access.end, access.period, access.width) for access in kept if access.write}

    def covered(read: ByteAccess) -> bool:
        return (read.start, read.end, read.period, read.width) in rows or whole.cover(read)

    return tuple(sorted(access for access in kept if access.write or not covered(access)))


class WrittenBytes:
    """Bytes of any number of accesses, as ranges without a gap inside, in order."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def _touched(self, access: ByteAccess) -> tuple[int, int]:
        """The ranges with a byte of the access: the first, and the one behind the last."""
        return bisect_right(self._ends, access.start), bisect_left(self._starts, access.end)

    def touches(self, access: ByteAccess) -> bool:
        first, behind = self._touched(access)
        return first < behind

    def add(self, access: ByteAccess) -> None:
        first, behind = self._touched(access)
        starts, ends = [access.start, *self._starts[first:behind]], [access.end, *self._ends[first:behind]]
        self._starts[first:behind], self._ends[first:behind] = [min(starts)], [max(ends)]

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The first byte and the end of each."""
        return tuple(zip(self._starts, self._ends, strict=True))


def conflicts(first: Sequence[ByteAccess], second: Sequence[ByteAccess]) -> Iterator[tuple[ByteAccess, ByteAccess]]:
    """Every pair of accesses that conflict."""
    if len(first) * len(second) > FEW:
        second = _near(second, first)
        first = _near(first, second)
    ranges = _Ranges(second) if len(first) * len(second) > FEW else None
    for one in first:
        for other in second if ranges is None else ranges.meeting(one):
            if one.conflicts_with(other):
                yield one, other


def _near(accesses: Sequence[ByteAccess], others: Sequence[ByteAccess]) -> Sequence[ByteAccess]:
    """Those that lie between the first byte of ``others`` and the last one."""
    if not others:
        return ()
    start, end = min(each.start for each in others), max(each.end for each in others)
    return [each for each in accesses if each.start < end and start < each.end]


class _Ranges:
    """Accesses by their beginnings, so that a graph of thousands of launches is looked through in no time."""

    def __init__(self, accesses: Iterable[ByteAccess]) -> None:
        self._sorted = sorted(accesses)
        self._starts = [access.start for access in self._sorted]
        self._reach = list(accumulate((access.end for access in self._sorted), max))
        """The largest end of an access and all that begin before it."""

    def cover(self, access: ByteAccess) -> bool:
        """One range holds the whole of ``access``."""
        before = bisect_right(self._starts, access.start)
        return before > 0 and self._reach[before - 1] >= access.end

    def meeting(self, access: ByteAccess) -> list[ByteAccess]:
        """Those whose ranges share a byte with that of ``access``, in their order."""
        found: list[ByteAccess] = []
        place = bisect_left(self._starts, access.end)
        while place and self._reach[place - 1] > access.start:
            place -= 1
            if self._sorted[place].end > access.start:
                found.append(self._sorted[place])
        return found[::-1]
