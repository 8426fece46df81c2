"""Bytes that launches touch, so that a launch meets those that touch some of its own without a look at all the others.

    region   bytes that some launch touches, and for each stream the numbers of its latest work that wrote some of them
             and of its latest work that touched some
    near     the regions that share a byte with one, itself among them: found once, when a region comes in

Work of one stream is in order, so that its latest in a region stands for all of it there: where that is before
something, so is the rest.  A launch is unordered with work of another stream

    iff   a region near one that it writes was touched, or near one that it reads was written, by work of that stream
          that is not before it

A launch that was made before finds its regions again without a search; in an index that does not grow, a look takes as
long as there are streams at work in its regions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from .streams import StreamId
from .touched_bytes import ByteAccess, conflicts

APART: Final = 8
"""Accesses of a launch that have a region each.  Of one with more, all reads are one region, and all writes: a graph of
a thousand launches."""

ROOM: Final = 4096
"""Regions in an index before it is looked which of them are in use."""

_Bytes: TypeAlias = tuple[tuple[int, int, int, int], ...]


class ByteRegion:
    """``bytes_`` of one launch or several.  ``written``, ``touched``: the number of each stream's latest work there."""

    __slots__ = ("bytes_", "end", "near", "start", "touched", "written")

    def __init__(self, bytes_: _Bytes) -> None:
        # As writes, so that whatever shares a byte with it is found.
        self.bytes_ = tuple(ByteAccess(start, end, True, "", *rows) for start, end, *rows in bytes_)
        self.start = min(each.start for each in self.bytes_)
        self.end = max(each.end for each in self.bytes_)
        self.near: list[ByteRegion] = [self]
        self.written: dict[StreamId, int] = {}
        self.touched: dict[StreamId, int] = {}

    def meets(self, other: ByteRegion) -> bool:
        """Whether a byte may be in both."""
        return next(conflicts(self.bytes_, other.bytes_), None) is not None

    def forget(self, seen: Callable[[StreamId], int]) -> bool:
        """Leave out the work that has finished; whether all has."""
        self.written = {stream: number for stream, number in self.written.items() if number > seen(stream)}
        self.touched = {stream: number for stream, number in self.touched.items() if number > seen(stream)}
        return not self.touched


ByteRegions: TypeAlias = tuple[tuple[ByteRegion, bool], ...]
"""The regions of a launch, and whether it writes them."""


class LaunchBytes:
    """What a launch touches; it remembers its regions in the index that it was last in."""

    __slots__ = ("accesses", "epoch", "regions")

    def __init__(self, accesses: Iterable[ByteAccess]) -> None:
        self.accesses = tuple(accesses)
        self.epoch: object = None
        self.regions: ByteRegions = ()

    def parts(self) -> list[tuple[_Bytes, bool]]:
        """The bytes of its regions, and whether it writes them."""
        touched = [each for each in self.accesses if each.start < each.end]
        if len(touched) <= APART:
            return [((_bytes(each),), each.write) for each in touched]
        groups = ((tuple(_bytes(each) for each in touched if each.write == write), write) for write in (False, True))
        return [group for group in groups if group[0]]


def _bytes(access: ByteAccess) -> tuple[int, int, int, int]:
    return access.start, access.end, access.period, access.width


class ByteIndex:
    """All regions.  ``seen(stream)``: its latest work that has finished, for which nothing waits any more."""

    def __init__(self, seen: Callable[[StreamId], int]) -> None:
        self._seen = seen
        self._epoch = object()  # another one since regions were left out
        self._room = ROOM
        self._known: dict[_Bytes, ByteRegion] = {}
        self._sorted: list[ByteRegion] = []  # by their first bytes
        self._starts: list[int] = []
        self._longest = 0

    def regions(self, footprint: LaunchBytes) -> ByteRegions:
        """Those that it was last found to have, if none were left out since."""
        if footprint.epoch is not self._epoch:
            if len(self._known) >= self._room:
                self._sweep()
            footprint.regions = tuple((self._region(bytes_), write) for bytes_, write in footprint.parts())
            footprint.epoch = self._epoch
        return footprint.regions

    def __len__(self) -> int:
        return len(self._known)

    def _region(self, bytes_: _Bytes) -> ByteRegion:
        found = self._known.get(bytes_)
        if found is None:
            found = self._known[bytes_] = ByteRegion(bytes_)
            # No region is longer than the longest, so that none that begins earlier gets so far.
            first = bisect_right(self._starts, found.start - self._longest)
            last = bisect_left(self._starts, found.end)
            for other in self._sorted[first:last]:
                if other.meets(found):
                    other.near.append(found)
                    found.near.append(other)
            self._insert(found)
        return found

    def _insert(self, region: ByteRegion) -> None:
        place = bisect_right(self._starts, region.start)
        self._starts.insert(place, region.start)
        self._sorted.insert(place, region)
        self._longest = max(self._longest, region.end - region.start)

    def _sweep(self) -> None:
        """Leave out the regions in which nothing is in flight."""
        kept = {bytes_: region for bytes_, region in self._known.items() if not region.forget(self._seen)}
        for region in self._sorted:
            region.near = [each for each in region.near if each.touched]
        self._known, self._epoch = kept, object()
        self._sorted = [each for each in self._sorted if each.touched]
        self._starts = [each.start for each in self._sorted]
        self._longest = max((each.end - each.start for each in self._sorted), default=0)
        self._room = max(ROOM, 2 * len(kept))
