"""The ledger of work in flight: nothing touches bytes that unordered work still uses.

    launch L on stream s conflicts   iff   there is work W in flight, not before s, and an access of W and one of L
                                           share a byte that at least one of both writes

A conflict makes the stream wait for W's stream first (the default), or is refused (`strict`, TV504).  Buffers of work
in flight are kept alive by the ledger, and it notices when one was moved behind its back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ...errors import TileVerifyError
from .streams import EventMark, Order, StreamId, Work
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


@dataclass(frozen=True, slots=True)
class Ticket:
    """One launch in flight.  ``owners`` are kept alive; ``moved``: tells what happened to one of them, if anything.

    ``mark``: the work with all that comes before it.
    """

    work: Work
    mark: EventMark
    name: str
    accesses: tuple[ByteAccess, ...]
    owners: tuple[object, ...]
    moved: Callable[[], str | None]


def _stays() -> str | None:
    return None


@dataclass
class Ledger:
    """``order`` knows what has been issued.  ``wait_for(waiting, stream)`` makes a stream wait for all that another one
    has been given so far, on the device; the ledger tells `order` about it."""

    order: Order
    wait_for: Callable[[StreamId, StreamId], None] = lambda waiting, stream: None
    strict: bool = False
    _in_flight: dict[Work, Ticket] = field(default_factory=dict)

    def launch(
        self,
        stream: StreamId,
        name: str,
        accesses: Iterable[ByteAccess],
        *,
        owners: Sequence[object] = (),
        moved: Callable[[], str | None] = _stays,
    ) -> Ticket:
        """Admit a launch, and issue it; raises `InFlightConflict` where `strict`, before anything is issued.

        ``accesses`` are looked at for as long as it is in flight: short lists (`merged`) are quicker.
        """
        touched = tuple(accesses)
        waits: dict[StreamId, None] = {}
        for ticket, mine, theirs in self.conflicts(stream, touched):
            if self.strict:
                raise InFlightConflict(_refusal(name, ticket.name, mine, theirs))
            waits[ticket.work.stream] = None
        for other in waits:
            self.wait_for(stream, other)
            self.order.wait(stream, self.order.record(other))
        work = self.order.issue(stream)
        ticket = Ticket(work, self.order.record(stream), name, touched, tuple(owners), moved)
        self._in_flight[ticket.work] = ticket
        return ticket

    def conflicts(
        self, stream: StreamId, accesses: Sequence[ByteAccess]
    ) -> Iterator[tuple[Ticket, ByteAccess, ByteAccess]]:
        """Work in flight that ``accesses``, on ``stream`` now, are unordered with; a pair of accesses for each."""
        for ticket in self._in_flight.values():
            if ticket.work.stream != stream and not self.order.before(ticket.work, stream):
                pair = next(conflicts(accesses, ticket.accesses), None)
                if pair is not None:
                    yield ticket, *pair

    def touch(self, name: str, accesses: Iterable[ByteAccess]) -> EventMark | None:
        """The host is about to touch bytes: the event that it has to wait for first; ``None`` if there is none.

        Raises `InFlightConflict` where `strict`.
        """
        touched = tuple(accesses)
        clock: dict[StreamId, int] = {}
        for ticket in self._in_flight.values():
            pair = next(conflicts(touched, ticket.accesses), None)
            if pair is not None and not self.order.seen_by_host(ticket.work):
                if self.strict:
                    raise InFlightConflict(_refusal(name, ticket.name, *pair))
                clock[ticket.work.stream] = max(ticket.work.number, clock.get(ticket.work.stream, 0))
        return EventMark(clock) if clock else None

    def finished(self, works: Iterable[Work]) -> None:
        """The device has finished ``works``, and so all that comes before them: their buffers are let go.

        Raises `InFlightConflict` for one that moved.
        """
        for work in works:
            if work in self._in_flight:
                self.order.synchronize(self._in_flight[work].mark)
        self.synchronized()

    def synchronized(self) -> None:
        """Let go of everything that the host has waited for; raises `InFlightConflict` for a buffer that moved."""
        complaints = []
        for work in [work for work in self._in_flight if self.order.seen_by_host(work)]:
            ticket = self._in_flight.pop(work)
            complaint = ticket.moved()
            if complaint is not None:
                complaints.append(f"{complaint} while '{ticket.name}' used it")
        if complaints:
            raise InFlightConflict(f"{'; '.join(complaints)} (TV504); keep buffers as they are until the work is done")

    @property
    def in_flight(self) -> tuple[Ticket, ...]:
        return tuple(self._in_flight.values())


def _refusal(name: str, other: str, mine: ByteAccess, theirs: ByteAccess) -> str:
    doing, done = ("writes" if access.write else "reads" for access in (mine, theirs))
    return (
        f"'{name}' {doing} {mine.what or 'bytes'} that '{other}', which is in flight and not ordered before it, {done} "
        f"as {theirs.what or 'its own'} (TV504): let the stream wait for an event behind it, or use one stream"
    )
