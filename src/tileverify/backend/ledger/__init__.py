"""Work in flight: which bytes it reads and writes, and what comes before what on the streams of a machine."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from ...system.errors import TileVerifyError
from .ordered_work import (
    LEGACY,
    PER_THREAD,
    ByteAccess,
    Clock,
    EventMark,
    Order,
    StreamId,
    Work,
    WrittenBytes,
    conflicts,
    merged,
)

__all__ = [
    "LEGACY",
    "PER_THREAD",
    "ByteAccess",
    "EventMark",
    "GraphNode",
    "InFlightConflict",
    "LaunchBytes",
    "Ledger",
    "Order",
    "StreamId",
    "Ticket",
    "Work",
    "WrittenBytes",
    "merged",
    "unordered_conflicts",
]

# --------------------------------------------------------------------------------------------------------------- ledger
# The ledger of work in flight: nothing touches bytes that unordered work still uses.
#
#     launch L on stream s conflicts   iff   there is work W in flight, not before s, and an access of W and one of L
#                                            share a byte that at least one of both writes
#
# A conflict makes the stream wait for W's stream first (the default), or is refused (`strict`, TV504).  Buffers of work
# in flight are kept alive by the ledger, and it notices when one was moved behind its back.


@dataclass
class InFlightConflict(TileVerifyError):
    """TV504: the launch would touch bytes that unordered work in flight uses.

    >>> import cuda.tile as ct
    >>> import numpy as np
    >>> import tileverify
    >>> @ct.kernel
    ... def clear(out):
    ...     ct.store(out, (ct.bid(0),), ct.zeros((128,), ct.float32))
    >>> out = np.ones(256, np.float32)
    >>> with tileverify.graph() as at_once:
    ...     first = at_once.launch((2,), clear, (out,))
    ...     other = at_once.launch((2,), clear, (out,), after=[])
    Traceback (most recent call last):
        ...
    tileverify.InFlightConflict: ...
    """

    __module__ = "tileverify"
    exit_code = 1


class Ticket(NamedTuple):
    """One launch in flight, or equal ones, and their number.  ``owners`` are kept alive; ``moved``: tells what
    happened to one of them, if anything.
    """

    stream: StreamId
    number: int
    name: str
    footprint: LaunchBytes
    owners: Sequence[object]
    moved: Callable[[], str | None]


def _stays() -> str | None:
    return None


_number: Final = attrgetter("number")


@dataclass
class Ledger:
    """``order`` knows what has been issued.

    ``wait_for(waiting, work)`` makes a stream wait, on the device, for work of another one, and gives what it waits
    for, which is ``work`` at least; the ledger tells ``order`` about it.
    """

    order: Order
    wait_for: Callable[[StreamId, Work], EventMark]
    strict: bool = False
    _queues: dict[StreamId, deque[Ticket]] = field(default_factory=dict)
    _index: ByteIndex = field(init=False)

    def __post_init__(self) -> None:
        self._index = ByteIndex(self.order.seen)

    def launch(
        self,
        stream: StreamId,
        name: str,
        footprint: LaunchBytes,
        owners: Sequence[object] = (),
        moved: Callable[[], str | None] = _stays,
    ) -> int:
        """Admit a launch, and issue it; its number.

        As long as that is `open`, the stream may be given the same launch again and again, and nobody needs to be told.
        An open number is in no clock, so that what conflicts with it can only be issued behind a wait for it, and that
        closes it; and whoever waits for the number waits for all of them.

        Raises `InFlightConflict` where `strict`, before anything is issued.
        """
        regions = self._index.regions(footprint)
        unordered = self._unordered(stream, regions)
        if unordered:
            if self.strict:
                raise InFlightConflict(next(self._refusals(name, footprint.accesses, unordered)))
            self._wait(stream, unordered)
        number = self.order.issue(stream)
        self._issue(regions, Ticket(stream, number, name, footprint, owners, moved))
        return number

    def issue(self, stream: StreamId, name: str, footprint: LaunchBytes, moved: Callable[[], str | None]) -> None:
        """Note a launch that is in order with all that it conflicts with."""
        ticket = Ticket(stream, self.order.issue(stream), name, footprint, (), moved)
        self._issue(self._index.regions(footprint), ticket)

    def _unordered(self, stream: StreamId, regions: ByteRegions) -> list[Work]:
        """Of each other stream, the latest work in flight that a launch on ``stream`` now would be unordered with."""
        behind = self.order.behind(stream)
        found: dict[StreamId, int] = {}
        for region, writes in regions:
            for near in region.near:
                for other, number in (near.touched if writes else near.written).items():
                    if number > behind.get(other, 0) and number > found.get(other, 0):
                        found[other] = number
        if not found:
            return []
        works = [Work(*each) for each in found.items()]
        clock = self.order.all_behind(stream)
        return works if clock is behind else _after(clock, works)

    def _wait(self, stream: StreamId, unordered: list[Work]) -> None:
        """First for the latest, behind which the others may be already."""
        if len(unordered) > 1:
            unordered.sort(key=_number, reverse=True)
        while unordered:
            self.order.wait(stream, self.wait_for(stream, unordered.pop(0)))
            if unordered:  # something may have finished meanwhile, too
                unordered = _after(self.order.all_behind(stream), unordered)

    def _issue(self, regions: ByteRegions, ticket: Ticket) -> None:
        stream, number = ticket.stream, ticket.number
        for region, writes in regions:
            if writes:  # it is behind all that touched these bytes, and stands for that from now on
                region.written, region.touched = {stream: number}, {stream: number}
            else:
                region.touched[stream] = number
        queue = self._queues.get(stream)
        if queue is None:
            queue = self._queues[stream] = deque()
        queue.append(ticket)

    def touch(self, name: str, accesses: Iterable[ByteAccess]) -> EventMark | None:
        """The host is about to touch bytes: the event that it has to wait for first; ``None`` if there is none.

        Raises `InFlightConflict` where `strict`.
        """
        touched = tuple(accesses)
        clock: dict[StreamId, int] = {}
        for ticket in self.in_flight:
            pair = next(conflicts(touched, ticket.footprint.accesses), None)
            if pair is not None and not self.order.seen_by_host(Work(ticket.stream, ticket.number)):
                if self.strict:
                    raise InFlightConflict(_refusal(name, ticket.name, *pair))
                clock[ticket.stream] = max(ticket.number, clock.get(ticket.stream, 0))
        return EventMark(clock) if clock else None

    def synchronized(self) -> None:
        """Let go of everything that the host has waited for; raises `InFlightConflict` for a buffer that moved."""
        complaints = []
        for ticket in list(self._finished()):
            complaint = ticket.moved()
            if complaint is not None:
                complaints.append(f"{complaint} while '{ticket.name}' used it")
        if complaints:
            raise InFlightConflict(f"{'; '.join(complaints)} (TV504); keep buffers as they are until the work is done")

    def _finished(self) -> Iterator[Ticket]:
        for stream, queue in list(self._queues.items()):
            seen = self.order.seen(stream)
            while queue and queue[0].number <= seen:
                yield queue.popleft()
            if not queue:
                del self._queues[stream]

    def _refusals(self, name: str, accesses: Sequence[ByteAccess], works: Sequence[Work]) -> Iterator[str]:
        for stream, number in works:
            for ticket in self._queues[stream]:
                if ticket.number == number:
                    for pair in conflicts(accesses, ticket.footprint.accesses):
                        yield _refusal(name, ticket.name, *pair)

    def alone(self, stream: StreamId) -> bool:
        """Whether no other stream has anything in flight."""
        return not self._queues or (len(self._queues) == 1 and stream in self._queues)

    @property
    def in_flight(self) -> tuple[Ticket, ...]:
        return tuple(ticket for queue in self._queues.values() for ticket in queue)


def _after(clock: Clock, works: list[Work]) -> list[Work]:
    """Those that are not in a clock."""
    return [work for work in works if work.number > clock.get(work.stream, 0)]


def _refusal(name: str, other: str, mine: ByteAccess, theirs: ByteAccess) -> str:
    doing, done = ("writes" if access.write else "reads" for access in (mine, theirs))
    return (
        f"'{name}' {doing} {mine.what or 'bytes'} that '{other}', which is in flight and not ordered before it, {done} "
        f"as {theirs.what or 'its own'} (TV504): let the stream wait for an event behind it, or use one stream"
    )


# ---------------------------------------------------------------------------------------------------------------- index
# Bytes that launches touch, so that a launch meets those that touch some of its own without a look at all the others.
#
# region   bytes that some launch touches, and for each stream the numbers of its latest work that wrote some of them
# and of its latest work that touched some near     the regions that share a byte with one, itself among them: found
# once, when a region comes in
#
# Work of one stream is in order, so that its latest in a region stands for all of it there: where that is before
# something, so is the rest.  A launch is unordered with work of another stream
#
#     iff   a region near one that it writes was touched, or near one that it reads was written, by work of that stream
#           that is not before it
#
# A launch that was made before finds its regions again without a search; in an index that does not grow, a look takes
# as long as there are streams at work in its regions.


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


# ------------------------------------------------------------------------------------------------------------ unordered
# Graphs of work, checked before they run: two nodes without a path between them touch nothing of each other.


@dataclass(frozen=True, slots=True)
class GraphNode:
    """``after``: positions of the nodes that it waits for, all smaller than its own."""

    name: str
    accesses: tuple[ByteAccess, ...]
    after: tuple[int, ...] = ()


def unordered_conflicts(nodes: Sequence[GraphNode]) -> Iterator[tuple[int, int, ByteAccess, ByteAccess]]:
    """Pairs of nodes (by position) without a path between them that share a byte which one of both writes."""
    ancestors = _ancestors(nodes)
    for later, node in enumerate(nodes):
        for earlier in range(later):
            if not ancestors[later] >> earlier & 1:
                pair = next(conflicts(nodes[earlier].accesses, node.accesses), None)
                if pair is not None:
                    yield earlier, later, *pair


def _ancestors(nodes: Sequence[GraphNode]) -> Mapping[int, int]:
    """A bit for every node that comes before."""
    found: dict[int, int] = {}
    for position, node in enumerate(nodes):
        found[position] = 0
        for other in node.after:
            assert other < position, "nodes come behind what they wait for"
            found[position] |= found[other] | 1 << other
    return found
