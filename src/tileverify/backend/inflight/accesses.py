"""The bytes that a piece of work reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True, slots=True, order=True)
class Access:
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

    def conflicts_with(self, other: Access) -> bool:
        """A byte may be in both, and at least one of both writes it."""
        together = max(self.start, other.start) < min(self.end, other.end)
        return (self.write or other.write) and together and not self._between(other)

    # Modulo g, the gcd of the periods, the bytes of an access lie in [start, start + width).  Two such intervals on a
    # circle of length g share nothing  iff  the second begins behind the first and ends before that begins again.
    def _between(self, other: Access) -> bool:
        """Whether rows of one lie between rows of the other; what has no period is one row."""
        circle = gcd(self.period, other.period)
        if not circle:
            return False
        ahead = (other.start - self.start) % circle
        return self._row <= ahead and ahead + other._row <= circle

    @property
    def _row(self) -> int:
        return self.width if self.period else self.end - self.start


def merged(accesses: Iterable[Access]) -> tuple[Access, ...]:
    """Without empty ranges and without reads of what is written as well; sorted."""
    kept = [access for access in accesses if access.start < access.end]
    writes = [access for access in kept if access.write]

    def covered(read: Access) -> bool:
        return any(
            write.start <= read.start and read.end <= write.end
            if not write.period
            else (write.start, write.end, write.period, write.width) == (read.start, read.end, read.period, read.width)
            for write in writes
        )

    return tuple(sorted(access for access in kept if access.write or not covered(access)))


def conflicts(first: Sequence[Access], second: Sequence[Access]) -> Iterator[tuple[Access, Access]]:
    """Every pair of accesses that conflict."""
    for one in first:
        for other in second:
            if one.conflicts_with(other):
                yield one, other
