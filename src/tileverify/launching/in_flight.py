"""What the launches of this process still use on GPUs: nothing touches it unordered, frees it, or moves it.

Launches on one stream are in order, so that as long as only one stream has work they are only noted.  With a second
stream, every launch goes through the ledger (`backend.inflight`): one that conflicts with unordered work of another
stream makes its own stream wait for that one first, or is refused (TV504) in strict mode.  How a program orders its
streams itself, by events of torch say, is not seen; the worst that comes of it is a wait too many.

Arguments are kept alive until the device has finished.  An array whose memory was moved meanwhile is found then.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final, Protocol

from ..backend.inflight import Access, InFlightConflict, Ledger, Order, StreamId, Work

POLLED_EVERY: Final = 256
"""Launches on one stream between two looks at what has finished."""

ASKED_FIRST_S: Final = 20e-6
ASKED_LAST_S: Final = 1e-3
"""Seconds between two questions of a coroutine that waits, growing from the first to the last."""


class Device(Protocol):
    """What is asked of the driver; an event is whatever ``record`` gives."""

    def stream(self, device: int, stream: Any) -> StreamId:
        """The identity of a stream of ``device``."""

    def record(self, stream: StreamId) -> Any:
        """An event behind all that ``stream`` was given."""

    def wait(self, stream: StreamId, event: Any) -> None:
        """``stream`` runs nothing more before ``event``."""

    def done(self, event: Any) -> bool:
        """Whether the device has come past ``event``."""

    def synchronize(self, event: Any) -> None:
        """The host waits for ``event``."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a launch touches: one access for each of its arrays."""

    name: str
    device: int
    accesses: tuple[Access, ...]


Launched = tuple[Use, Sequence[Any]]
"""A launch and its arguments, which live as long as this does."""


def moved(use: Use, arguments: Sequence[Any]) -> str | None:
    """Which of the arrays lies elsewhere now; only torch's tensors can move."""
    now = {array.data_ptr() for array in _arrays(arguments)}
    if now <= {access.start for access in use.accesses}:
        return None
    gone = next(access.what for access in use.accesses if access.start not in now)
    return f"the memory of `{gone}` was moved or freed"


def _arrays(arguments: Sequence[Any]) -> Iterator[Any]:
    for each in arguments:
        if isinstance(each, tuple | list):
            yield from _arrays(each)
        elif hasattr(each, "data_ptr"):
            yield each


@dataclass
class InFlight:
    """Everything in flight; threads may share it.  ``strict``: conflicts are refused, not waited for."""

    device: Device
    strict: bool = False
    _alone: StreamId | None = None  # the only stream with work, which is noted and not in the ledger
    _place: tuple[int, int] | None = None  # its device and handle
    _noted: deque[Launched] = field(default_factory=deque)
    _marked: deque[tuple[Any, int]] = field(default_factory=deque)  # events, and how many of `_noted` they cover
    _unmarked: int = 0
    _ledger: Ledger = field(init=False)
    _events: dict[Work, Any] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._ledger = Ledger(Order(), self._let_wait)

    def launch(self, stream: Any, use: Use, arguments: Sequence[Any], make: Callable[[Any], None]) -> None:
        """``make(stream)``, in order with all that it conflicts with.

        Raises `InFlightConflict` (TV504) where `strict`, before anything is made; and for memory that moved under
        earlier launches.
        """
        with self._lock:
            if (use.device, getattr(stream, "cuda_stream", None)) != self._place:
                identity = self.device.stream(use.device, stream)
                if not self._stays_alone(identity):
                    self._ordered(identity, use, arguments, partial(make, stream))
                    return
            make(stream)
            self._noted.append((use, arguments))
            self._unmarked += 1
            if self._unmarked >= POLLED_EVERY:
                self._forget_finished()

    def _stays_alone(self, stream: StreamId) -> bool:
        """Whether ``stream`` is the only one with work."""
        if self._alone is None and not self._ledger.in_flight:
            self._alone, self._place = stream, (stream.device, stream.handle)
        return self._alone == stream

    def _forget_finished(self) -> None:
        assert self._alone is not None
        self._marked.append((self.device.record(self._alone), self._unmarked))
        self._unmarked = 0
        finished = []
        while self._marked and self.device.done(self._marked[0][0]):
            finished += [self._noted.popleft() for _ in range(self._marked.popleft()[1])]
        _complain(finished)

    def _ordered(self, stream: StreamId, use: Use, arguments: Sequence[Any], make: Callable[[], None]) -> None:
        """A launch beside work of other streams."""
        self._take_in_noted()
        self._poll()
        self._ledger.strict = self.strict
        work = self._enter(stream, use, arguments)
        try:
            make()
        finally:  # what failed to launch is finished as soon as the event is
            self._events[work] = self.device.record(stream)

    def _enter(self, stream: StreamId, use: Use, arguments: Sequence[Any]) -> Work:
        kept = partial(moved, use, arguments)
        return self._ledger.launch(stream, use.name, use.accesses, owners=(arguments,), moved=kept).work

    def _take_in_noted(self) -> None:
        """Another stream comes in: what was only noted goes into the ledger."""
        if self._alone is None:
            return
        stream, noted = self._alone, list(self._noted)
        self._forget_alone()
        self._ledger.strict = False
        works = [self._enter(stream, *launched) for launched in noted]
        if works:
            self._events[works[-1]] = self.device.record(stream)

    def _forget_alone(self) -> None:
        self._alone, self._place, self._unmarked = None, None, 0
        self._noted.clear()
        self._marked.clear()

    def _let_wait(self, waiting: StreamId, stream: StreamId) -> None:
        self.device.wait(waiting, self.device.record(stream))

    def _poll(self) -> None:
        finished = [work for work, event in self._events.items() if self.device.done(event)]
        for work in finished:
            del self._events[work]
        if finished:
            self._ledger.finished(finished)

    def synchronize(self) -> None:
        """Wait for everything; raises `InFlightConflict` for memory that moved meanwhile."""
        with self._lock:
            if self._alone is not None:
                self.device.synchronize(self.device.record(self._alone))
                noted = list(self._noted)
                self._forget_alone()
                _complain(noted)
            for event in self._events.values():
                self.device.synchronize(event)
            finished = list(self._events)
            self._events.clear()
            self._ledger.finished(finished)

    async def finished(self, stream: Any = None, device: int = 0) -> None:
        """Wait, as a coroutine, for all that ``stream`` was given so far; raises what `synchronize` raises.

        An event is asked now and then, which takes neither a thread nor a callback.
        """
        import asyncio  # nobody else needs it

        pause = ASKED_FIRST_S
        event = self.device.record(self.device.stream(device, stream))
        while not self.device.done(event):
            await asyncio.sleep(pause)
            pause = min(2 * pause, ASKED_LAST_S)
        with self._lock:
            if self._alone is not None and self._noted:
                self._forget_finished()
            else:
                self._poll()

    @property
    def count(self) -> int:
        """Launches that are not known to have finished."""
        with self._lock:
            return len(self._noted) + len(self._ledger.in_flight)


@cache
def in_flight() -> InFlight:
    """That of this process."""
    from ..backend.gpu.events import CudaDevice

    return InFlight(CudaDevice())


def _complain(finished: Sequence[Launched]) -> None:
    found = [(use.name, moved(use, arguments)) for use, arguments in finished]
    complaints = [f"{what} while '{name}' used it" for name, what in found if what is not None]
    if complaints:
        said = "; ".join(dict.fromkeys(complaints))
        raise InFlightConflict(f"{said} (TV504); keep arrays as they are until the work is done")
