"""The bytes that a piece of work reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Access:
    """Bytes ``start <= address < end`` of one address space; ``what`` names the argument in messages.

    Unified addressing gives every device and the pinned memory of the host one address space.
    """

    start: int
    end: int
    write: bool
    what: str = ""

    def conflicts_with(self, other: Access) -> bool:
        """One byte, and at least one of both writes it."""
        return (self.write or other.write) and max(self.start, other.start) < min(self.end, other.end)


def merged(accesses: Iterable[Access]) -> tuple[Access, ...]:
    """Without empty ranges and without reads of what is written as well; sorted."""
    kept = [access for access in accesses if access.start < access.end]
    writes = [access for access in kept if access.write]

    def covered(read: Access) -> bool:
        return any(write.start <= read.start and read.end <= write.end for write in writes)

    return tuple(sorted(access for access in kept if access.write or not covered(access)))


def conflicts(first: Sequence[Access], second: Sequence[Access]) -> Iterator[tuple[Access, Access]]:
    """Every pair of accesses that conflict."""
    for one in first:
        for other in second:
            if one.conflicts_with(other):
                yield one, other
