"""What the launches of this process still use on GPUs: nothing touches it unordered, frees it, or moves it.

Launches on one stream are in order, so that as long as only one stream has work they are only noted (`journal`).  While
another one has some, every launch goes through the ledger (`backend.inflight`): one that conflicts with unordered work
of another stream makes its own stream wait for that one first, or is refused (TV504) in strict mode.
How a program orders its streams by other means than `InFlight.record` and `InFlight.wait`, by events of torch say, is
not seen; the worst that comes of it is a wait too many, or in strict mode a refusal.

Arguments are kept alive until the device has finished.  An array whose memory was moved meanwhile is found then.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Protocol

from ..backend.gpu import driver
from ..backend.ledger import EventMark, Ledger, Order, StreamId, Work
from .completion import ASKED_FIRST_S, ASKED_LAST_S, Completion
from .given import Arguments, Stream, TorchStream
from .journal import Journal, Noted, Repeated, Use, complain


class Device(Protocol):
    """What is asked of the driver; an event is whatever ``record`` gives."""

    def stream(self, device: int, stream: Stream) -> StreamId:
        """The identity of a stream of ``device``."""

    def record(self, stream: StreamId) -> object:
        """An event behind all that ``stream`` was given."""

    def wait(self, stream: StreamId, event: Any) -> None:
        """``stream`` runs nothing more before ``event``."""

    def done(self, event: Any) -> bool:
        """Whether the device has come past ``event``."""

    def synchronize(self, event: Any) -> None:
        """The host waits for ``event``."""


@dataclass(frozen=True, slots=True)
class Event:
    """What a stream had been given when it was recorded."""

    mark: EventMark
    driver: object


@dataclass
class InFlight:
    """Everything in flight; threads may share it.  ``strict``: conflicts are refused, not waited for."""

    device: Device
    strict: bool = False
    journal: Journal = field(default_factory=Journal)
    lock: threading.RLock = field(default_factory=threading.RLock)
    _place: tuple[int, int] | None = None  # device and handle of the journal's place
    _ledger: Ledger = field(init=False)
    _events: dict[StreamId, deque[tuple[Work, object]]] = field(default_factory=dict)  # in the order of each stream
    _completion: Completion[object] | None = None

    def __post_init__(self) -> None:
        self._ledger = Ledger(Order(), self._let_wait)

    def launch(
        self,
        stream: Stream,
        use: Use,
        arguments: Arguments,
        make: Callable[[Stream], None],
        owners: Sequence[object] = (),
    ) -> None:
        """``make(stream)``, in order with all that it conflicts with.

        ``owners`` live as long as the arguments: until the device has finished.  Raises `InFlightConflict` (TV504)
        where `strict`, before anything is made; and for memory that moved under earlier launches.
        """
        noted = Noted.of(use, arguments, owners)
        with self.lock:
            if (use.device, getattr(stream, "cuda_stream", None)) != self._place:
                identity = self.device.stream(use.device, stream)
                if not self._stays_alone(identity):
                    self._ordered(identity, noted, partial(make, stream))
                    return
            make(stream)
            self.journal.note(noted)
            self.journal.left -= 1
            if self.journal.left <= 0 or self.journal.room <= 0:
                self.look()

    def _stays_alone(self, stream: StreamId) -> bool:
        """Whether ``stream`` is the only one with work; what the ledger has of it is in order with what comes."""
        if self.journal.place is None and not any(marked for s, marked in self._events.items() if s != stream):
            self.journal.place, self._place = stream, (stream.device, stream.handle)
        return self.journal.place == stream

    def enter(self, launch: Repeated, stream: TorchStream, arrays: tuple[object, ...]) -> int | None:
        """Make it on ``stream``, of torch, and note it in the open batch; the driver's status, which is 0.

        ``None``, and nothing done, where that is not the only stream with work.  Raises `DriverFailure`.
        """
        with self.lock:
            if (launch.use.device, stream.cuda_stream) != self._place:
                return None
            if self.journal.room <= 0:
                self.look()
            if launch.handle != stream.cuda_stream:
                launch.bind(stream)
            status = launch.go()
            if status:
                launch.plan.retry(status, launch.go)
            self.journal.repeat(launch, arrays)
            return 0

    def look(self) -> None:
        """Close the open batch of the journal, and let go of those that have finished."""
        with self.lock:
            if self.journal.place is not None:
                self.journal.seal()
                self.journal.close(self.device.record(self.journal.place))
                complain(list(self.journal.finished(self.device.done)))
            self._poll()

    def _ordered(self, stream: StreamId, noted: Noted, make: Callable[[], None]) -> None:
        """A launch beside work of other streams."""
        self._take_in_noted()
        self._poll()
        self._ledger.strict = self.strict
        work = self._enter(stream, noted)
        try:
            make()
        finally:  # what failed to launch is finished as soon as the event is
            self._events.setdefault(stream, deque()).append((work, self.device.record(stream)))

    def _enter(self, stream: StreamId, noted: Noted) -> Work:
        use, kept = noted
        return self._ledger.launch(stream, use.name, use.touched, owners=kept, moved=noted.moved).work

    def _take_in_noted(self) -> None:
        """Another stream or an event comes in: what was only noted goes into the ledger."""
        stream = self.journal.place
        if stream is None:
            return
        self._place = None
        self._ledger.strict = False
        works = [self._enter(stream, noted) for noted in self.journal.all()]
        if works:
            self._events.setdefault(stream, deque()).append((works[-1], self.device.record(stream)))

    def _let_wait(self, waiting: StreamId, stream: StreamId) -> None:
        self.device.wait(waiting, self.device.record(stream))

    def _poll(self) -> None:
        finished = []
        for marked in self._events.values():
            while marked and self.device.done(marked[0][1]):
                finished.append(marked.popleft()[0])
        if finished:
            self._ledger.finished(finished)

    def record(self, stream: Stream, device: int = 0) -> Event:
        """An event behind all that ``stream`` was given by launches."""
        with self.lock:
            self._take_in_noted()
            identity = self.device.stream(device, stream)
            return Event(self._ledger.order.record(identity), self.device.record(identity))

    def wait(self, stream: Stream, event: Event, device: int = 0) -> None:
        """``stream`` runs nothing more before ``event``; launches on it are in order with what lies behind that."""
        with self.lock:
            self._take_in_noted()
            identity = self.device.stream(device, stream)
            self.device.wait(identity, event.driver)
            self._ledger.order.wait(identity, event.mark)

    def synchronize(self) -> None:
        """Wait for everything; raises `InFlightConflict` for memory that moved meanwhile."""
        with self.lock:
            place, self._place = self.journal.place, None
            noted = self.journal.all()
            if place is not None:
                self.device.synchronize(self.device.record(place))
            finished = []
            for marked in self._events.values():
                if marked:
                    self.device.synchronize(marked[-1][1])
                    finished.append(marked[-1][0])
            self._events.clear()
            try:
                self._ledger.finished(finished)
            finally:
                complain(noted)

    def future(self, stream: Stream = None, device: int = 0) -> Future[None]:
        """Done when all is that ``stream`` was given so far; it raises what `synchronize` raises.

        ``add_done_callback`` makes it call back.  One thread asks the driver for all of them.
        """
        with self.lock:
            self.look()
            event = self.device.record(self.device.stream(device, stream))
        if self._completion is None or self._completion.done != self.device.done:
            self._completion = Completion(self.device.done)
        return self._completion.future(event, self._settle)

    async def finished(self, stream: Stream = None, device: int = 0) -> None:
        """`future`, for coroutines, which ask themselves: no thread at all."""
        import asyncio  # nobody else needs it

        pause = ASKED_FIRST_S
        event = self.device.record(self.device.stream(device, stream))
        while not self.device.done(event):
            await asyncio.sleep(pause)
            pause = min(2 * pause, ASKED_LAST_S)
        with self.lock:
            self.look()
            self._poll()

    def _settle(self) -> None:
        """Let go of what has finished; records nothing, so that any thread may call it."""
        with self.lock:
            complain(list(self.journal.finished(self.device.done)))
            self._poll()

    @property
    def count(self) -> int:
        """Launches that are not known to have finished."""
        with self.lock:
            return self.journal.count + len(self._ledger.in_flight)


class HostDevice:
    """The host alone: what it was given is done."""

    def stream(self, device: int, stream: Stream) -> StreamId:
        return StreamId(device, driver.stream_handle(stream))

    def record(self, stream: StreamId) -> None:
        """Behind all that the stream was given is now."""

    def wait(self, stream: StreamId, event: None) -> None:
        """Nothing is left to wait for."""

    def done(self, event: None) -> bool:
        return True

    def synchronize(self, event: None) -> None:
        """Nothing is left to wait for."""


def of_this_machine() -> InFlight:
    """`in_flight`, on whatever this machine has."""
    found = in_flight()
    if not driver.present():
        found.device = HostDevice()
    return found


@cache
def in_flight() -> InFlight:
    """That of this process."""
    from ..backend.gpu.events import CudaDevice

    return InFlight(CudaDevice())
