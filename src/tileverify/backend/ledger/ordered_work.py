"""Work in flight: the bytes that a piece of it reads and writes, and what comes before what on streams.

Source: CUDA programming guide, "Streams" and "Events".  Work of one stream runs in the order it was issued.  An event
stands for what its stream had been given when it was recorded; a stream that waits for it runs nothing later before
that has finished.  Work of the legacy default stream waits for what all blocking streams of its device have been given,
and they wait for it.  What the host has waited for is before all that it issues later.

A *clock* maps a stream to the number of its latest work that is known to be before; clocks are joined by the maximum.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import gcd
from typing import Final, NamedTuple, TypeAlias

_Key: TypeAlias = tuple[int, int, bool, int, bool]


@dataclass(frozen=True, eq=False, slots=True)
class StreamId:
    """A stream of a device; ``blocking``: it is ordered with the legacy default stream.

    ``serial`` tells streams apart that have one handle: one that was destroyed, and one that was made later.
    ``lasting``: it is there as long as the process, and is the same one in all threads, so that an event may be
    recorded on it at any time.  There is one object for equal ones: dictionaries find it without a word of Python.
    """

    device: int
    handle: int
    blocking: bool = True
    serial: int = 0
    lasting: bool = True

    def __new__(
        cls, device: int, handle: int, blocking: bool = True, serial: int = 0, lasting: bool = True
    ) -> StreamId:
        key = device, handle, blocking, serial, lasting
        found = _streams.get(key)
        return found if found is not None else _streams.setdefault(key, object.__new__(cls))


_streams: dict[_Key, StreamId] = {}

LEGACY: Final = 0
"""The handle of the legacy default stream."""

PER_THREAD: Final = 2
"""``CU_STREAM_PER_THREAD`` of cuda.h: the handle of each thread's own default stream."""

Clock: TypeAlias = Mapping[StreamId, int]

_ALL: Final = 1 << 62
"""More than any stream's work."""


class Work(NamedTuple):
    """Work of a stream.  Later work has a larger number, but for what one stream is given while nobody asks what is
    before what: that has one number, and is waited for together."""

    stream: StreamId
    number: int


class EventMark(NamedTuple):
    """What an event stands for: a clock."""

    clock: Clock


@dataclass
class Order:
    """Happens-before of all work, in the order in which the host issues it (one thread at a time)."""

    open: dict[StreamId, int] = field(default_factory=dict)
    """Streams whose next work gets the number of their latest, which this is: no event stands for that yet."""
    _count: int = 0
    _issued: dict[StreamId, int] = field(default_factory=dict)  # the latest
    _behind: dict[StreamId, Clock] = field(default_factory=dict)  # replaced where they grow, never changed
    _blocking: dict[int, list[StreamId]] = field(default_factory=dict)  # but for the legacy stream, by device
    _host: dict[StreamId, int] = field(default_factory=dict)
    _waits: int = 0  # of the host
    _told: dict[StreamId, int] = field(default_factory=dict)  # how many of them a stream's clock has

    def behind(self, stream: StreamId) -> Clock:
        """What is before all that ``stream`` is given next, its own work included.

        There may be more: what the host has waited for, and what the legacy rule says (`before`).
        """
        found = self._behind.get(stream)
        if found is None:
            found = self._behind[stream] = {stream: _ALL}
            self._issued[stream] = 0
            if stream.blocking and stream.handle != LEGACY:
                self._blocking.setdefault(stream.device, []).append(stream)
        return found

    def before(self, work: Work, stream: StreamId) -> bool:
        """Whether ``work`` has finished before anything runs that ``stream`` is given next."""
        return self.all_behind(stream).get(work.stream, 0) >= work.number

    def seen(self, stream: StreamId) -> int:
        """The number of the latest work of ``stream`` that the host has waited for."""
        return self._host.get(stream, 0)

    def seen_by_host(self, work: Work) -> bool:
        """Whether the host has waited for ``work``."""
        return self.seen(work.stream) >= work.number

    def issue(self, stream: StreamId) -> int:
        """Give ``stream`` the next work; its number."""
        if stream.blocking:
            self.behind(stream)
            for other in self._joined_by(stream):
                self._join(stream, self._clock(other))
        number = self.open.get(stream)
        if number is None:
            self.behind(stream)
            self._count += 1
            number = self.open[stream] = self._issued[stream] = self._count
        return number

    def record(self, stream: StreamId) -> EventMark:
        """An event recorded on ``stream`` now.

        Whether recording counts as work that waits for the legacy stream is not said, so no such order is claimed.
        """
        return EventMark(self._clock(stream))

    def wait(self, stream: StreamId, event: EventMark) -> None:
        """``stream`` runs what it is given from now on behind ``event``."""
        self._join(stream, event.clock)

    def synchronize(self, what: StreamId | EventMark | None = None) -> None:
        """The host waits for a stream, an event, or everything."""
        if isinstance(what, EventMark):
            clocks = [what.clock]
        else:
            clocks = [self._clock(stream) for stream in (list(self._behind) if what is None else [what])]
        self._waits += 1
        for clock in clocks:
            for stream, number in clock.items():
                if self._host.get(stream, 0) < number:
                    self._host[stream] = number

    def all_behind(self, stream: StreamId) -> Clock:
        """Everything that is before what ``stream`` is given next."""
        if self._told.get(stream) != self._waits:
            self._join(stream, self._host)  # for good: the host issues that later
            self._told[stream] = self._waits
        # The legacy stream is joined only when work is issued, so that it can be asked about here without a change.
        joined = self._joined_by(stream) if stream.blocking else ()
        if not joined:
            return self.behind(stream)
        found = dict(self.behind(stream))
        for other in joined:
            for each, number in self._clock(other).items():
                found[each] = max(number, found.get(each, 0))
        return found

    def _clock(self, stream: StreamId) -> Clock:
        """What is before the end of what ``stream`` was given; what it is given later has another number."""
        behind = self.behind(stream)
        self.open.pop(stream, None)
        return {**behind, stream: self._issued[stream]}

    def _join(self, stream: StreamId, other: Clock) -> None:
        behind = self.behind(stream)
        later = {each: number for each, number in other.items() if behind.get(each, 0) < number}
        if later:
            self._behind[stream] = {**behind, **later}

    def _joined_by(self, stream: StreamId) -> Sequence[StreamId]:
        """The streams whose work the legacy rule puts before the next work of ``stream``."""
        if stream.handle == LEGACY:
            return self._blocking.get(stream.device, ())
        if not stream.blocking:
            return ()
        legacy = StreamId(stream.device, LEGACY)
        return (legacy,) if legacy in self._behind else ()


# -------------------------------------------------------------------------------------------------------- touched bytes
# The bytes that a piece of work reads and writes.


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
