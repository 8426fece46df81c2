"""The ledger of work in flight: nothing touches bytes that unordered work still uses.

    launch L on stream s conflicts   iff   there is work W in flight, not before s, and an access of W and one of L
                                           share a byte that at least one of both writes

A conflict makes the stream wait for W's stream first (the default), or is refused (`strict`, TV504).  Buffers of work
in flight are kept alive by the ledger, and it notices when one was moved behind its back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

from ...system.errors import TileVerifyError
from .index import ByteIndex, ByteRegions, LaunchBytes
from .streams import Clock, EventMark, Order, StreamId, Work
from .touched_bytes import ByteAccess, conflicts


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
