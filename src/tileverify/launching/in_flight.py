"""What the launches of this process still use on GPUs: nothing touches it unordered, frees it, or moves it.

Launches on one stream are in order, so that as long as only one stream has work they are only noted (`launch_log`).
While another one has some, every launch goes through the ledger (`backend.ledger`): one that conflicts with unordered
work of another stream makes its own stream wait for that one first, or is refused (TV504) in strict mode.
How a program orders its streams by other means than `InFlight.record` and `InFlight.wait`, by events of torch say, is
not seen; the worst that comes of it is a wait too many, or in strict mode a refusal.

Arguments are kept alive until the device has finished: that is asked now and then (`marks`), in strict mode at every
launch on several streams.  An array whose memory was moved meanwhile is found then.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from ..backend.gpu import driver
from ..backend.ledger import PER_THREAD, EventMark, Ledger, Order, StreamId, Work
from .launch_log import MOST_BYTES, Journal, Noted, Repeated, Use, complain
from .launch_types import Arguments, Stream, TorchStream

# ---------------------------------------------------------------------------------------------------------------- marks
# Events behind the launches on several streams: they say what has finished, and what another stream has to wait for.
#
# An event costs the host as much as a third of a launch, so that not every launch has one:
#
# * of a stream that is `lasting`, every `MARKED_EVERY`-th launch has one, the first one that nobody knows to have
# finished, and whichever is waited for: that event is recorded when the wait is needed, behind all that the stream was
# given by then.  An event that is there is taken where it lies behind what is waited for. * of every other stream each
# launch has one, which is recorded at once and in the thread of the launch.  Nothing is asked of the stream itself
# later on: it may be gone, or its handle mean another one in another thread.


MARKED_EVERY: Final = 64


class Events(Protocol):
    """What is asked of the driver; an event is whatever ``record`` gives."""

    def record(self, stream: StreamId) -> object:
        """An event behind all that ``stream`` was given."""

    def done(self, event: Any) -> bool:
        """Whether the device has come past ``event``."""

    def synchronize(self, event: Any) -> None:
        """The host waits for ``event``."""


class Mark(NamedTuple):
    """An event, what it stands for, and the launches before it and behind the last one that the ledger has not."""

    stands_for: EventMark
    event: object
    again: int


@dataclass(eq=False, slots=True)
class _Given:
    """Of one stream: events, the earliest first, and the launches behind the last one; ``again``: those among them that
    the ledger was not told of."""

    marks: deque[Mark] = field(default_factory=deque)
    unmarked: int = 0
    again: int = 0


@dataclass(eq=False)
class Marks:
    """The events of all streams.  What they lie behind, ``order`` says."""

    order: Order
    _given: dict[StreamId, _Given] = field(default_factory=dict)

    def launched(self, events: Events, stream: StreamId, *, always: bool = False, again: bool = False) -> None:
        """``stream`` was given a launch; ``always``: it gets an event in any case; ``again``: one that is there."""
        given = self._given.get(stream)
        if given is None:
            given = self._given[stream] = _Given()
        given.unmarked += 1
        given.again += again
        if given.unmarked >= MARKED_EVERY or not given.marks or always or not stream.lasting:
            self.mark(events, stream)

    def mark(self, events: Events, stream: StreamId) -> Mark:
        """An event behind all that a stream was given, which still has something in flight."""
        given = self._given[stream]
        mark = Mark(self.order.record(stream), events.record(stream), given.again)
        given.marks.append(mark)
        given.unmarked = given.again = 0
        return mark

    def behind(self, work: Work) -> Mark | None:
        """The earliest event that stands for ``work``, if there is one."""
        stream, number = work
        found = None
        for mark in reversed(self._given[stream].marks):
            if mark.stands_for.clock[stream] < number:
                break
            found = mark
        return found

    def all(self, events: Events) -> None:
        """Every launch lies before an event."""
        for stream, given in self._given.items():
            if given.unmarked:
                self.mark(events, stream)

    def passed(self, events: Events, *, recording: bool) -> bool:
        """Tell the order what the device has come past; whether there was anything.

        ``recording``: launches that no event is left for get one.
        """
        found = False
        for stream, given in list(self._given.items()):
            latest = None
            while given.marks and events.done(given.marks[0].event):
                latest = given.marks.popleft()
            if latest is not None:
                self.order.synchronize(latest.stands_for)
                found = True
            if not given.marks and given.unmarked and recording:
                self.mark(events, stream)
            elif not given.marks and not given.unmarked:
                del self._given[stream]
        return found

    def synchronize(self, events: Events) -> None:
        """Wait for everything, and tell the order."""
        self.all(events)
        for given in self._given.values():
            events.synchronize(given.marks[-1].event)
            self.order.synchronize(given.marks[-1].stands_for)
        self._given.clear()

    @property
    def streams(self) -> int:
        """Streams with launches that nobody knows to have finished."""
        return len(self._given)

    @property
    def again(self) -> int:
        """Launches that the ledger was not told of."""
        return sum(given.again + sum(mark.again for mark in given.marks) for given in self._given.values())


# ------------------------------------------------------------------------------------------------------------ in flight


SETTLED: Final = 32
"""Launches in a row on one stream, after which it may be the only one with work."""


class Device(Events, Protocol):
    """What is asked of the driver."""

    def stream(self, device: int, stream: Stream) -> StreamId:
        """The identity of a stream of ``device``."""

    def wait(self, stream: StreamId, event: Any) -> None:
        """``stream`` runs nothing more before ``event``."""


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
    _alone: Stream = None  # its object, so that nobody destroys the stream
    _order: Order = field(default_factory=Order)
    _ledger: Ledger = field(init=False)
    _marks: Marks = field(init=False)
    _latest: StreamId | None = None  # of several with work, the one that was given something last
    _in_a_row: int = SETTLED  # launches that it was given in a row
    _asked_in: int = 1  # launches on several streams until it is asked what has finished
    _asked_again: int = 1  # and until the next time
    _room: int = MOST_BYTES  # bytes that they may touch until then
    _completion: Completion[object] | None = None

    def __post_init__(self) -> None:
        self._ledger, self._marks = Ledger(self._order, self._let_wait), Marks(self._order)

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
                if not self._stays_alone(identity, stream):
                    self._turn(identity)
                    self._admit(identity, noted)
                    try:
                        make(stream)
                    finally:  # what failed to launch is finished as soon as an event behind it is
                        self._marks.launched(self.device, identity, always=self.strict)
                    return
            make(stream)
            self.journal.note(noted)
            self.journal.left -= 1
            if self.journal.left <= 0 or self.journal.room <= 0:
                self.look()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other thread launches anything inside, not even what it only notes elsewhere (`launch_log`)."""
        with self.lock:
            self.journal.seal()
            yield

    def _stays_alone(self, identity: StreamId, stream: Stream) -> bool:
        """Whether the stream is the only one with work; what the ledger has of it is in order with what comes."""
        if self.journal.place is None and self._may_be_alone(identity):
            self.journal.place, self._place = identity, (identity.device, identity.handle)
            self._alone = stream
        return self.journal.place == identity

    def _may_be_alone(self, stream: StreamId) -> bool:
        """Where several take turns, none becomes the only one each time that the others have just finished.

        A handle that means another stream in each thread is no place.
        """
        return self._in_a_row >= SETTLED and stream.handle != PER_THREAD and self._ledger.alone(stream)

    def _turn(self, stream: StreamId) -> None:
        if stream is self._latest:
            self._in_a_row += 1
        else:
            self._latest, self._in_a_row = stream, 0

    def enter(self, launch: Repeated, stream: TorchStream, arrays: tuple[object, ...]) -> bool | None:
        """Make it on ``stream``, of torch, in order with all that it conflicts with; whether it was made.

        ``None``: it was, on the only stream with work, and is noted in the open batch.  Where the stream has just
        become that, nothing is done.  Raises `DriverFailure`, and `InFlightConflict` as `launch` does.
        """
        with self.lock:
            if (launch.use.device, stream.cuda_stream) != self._place:
                identity = self.device.stream(launch.use.device, stream)
                if self.journal.place is None and self._may_be_alone(identity):
                    return False
                self._turn(identity)
                self._beside(identity, launch, arrays)
                return True
            if self.journal.room <= 0:
                self.look()
            if launch.handle != stream.cuda_stream:
                launch.bind(stream)
            status = launch.go()
            if status:
                launch.plan.retry(status, launch.go)
            self.journal.repeat(launch, arrays)
            return None

    def _beside(self, stream: StreamId, launch: Repeated, arrays: tuple[object, ...]) -> None:
        """A launch that was checked, beside work of other streams."""
        shown = tuple(map(id, arrays))
        # Arrays of a number that is open live, so that no other has come to the place of one of them.
        again = self._order.open.get(stream) == launch.number and launch.shown == shown and self._asked_in > 1
        if again:
            self._asked_in -= 1
        else:
            launch.number, launch.shown = self._admit(stream, Noted(launch.use, arrays)), shown
        call = launch.plan.bound(stream.handle)
        try:
            status = call()
            if status:
                launch.plan.retry(status, call)
        finally:
            self._marks.launched(self.device, stream, always=self.strict, again=again)

    def look(self) -> None:
        """Close the open batch of the journal, and let go of what has finished."""
        with self.lock:
            if self.journal.place is not None:
                self.journal.seal()
                self.journal.close(self.device.record(self.journal.place))
                complain(list(self.journal.finished(self.device.done)))
            self._marks.all(self.device)
            self._let_go(recording=True)

    def _admit(self, stream: StreamId, noted: Noted) -> int:
        """``stream`` is given a launch beside work of other streams, in order with that; its number."""
        if self.journal.place is not None:
            self._take_in_noted()
        self._asked_in -= 1
        self._room -= noted.use.size
        if self._asked_in <= 0 or self._room <= 0 or self.strict:
            self._ask()
        self._ledger.strict = self.strict
        use = noted.use
        return self._ledger.launch(stream, use.name, use.footprint, (), noted.moved)

    def _ask(self) -> None:
        """What has finished?  Seldom where there is no need, and the sooner the later another stream came in."""
        if self._room <= 0 or self.strict:
            self._marks.all(self.device)
        self._let_go(recording=True)
        self._asked_in, self._room = self._asked_again, MOST_BYTES
        self._asked_again = min(2 * self._asked_again, MARKED_EVERY * max(1, self._marks.streams))

    def _take_in_noted(self) -> None:
        """Another stream or an event comes in: what was only noted goes into the ledger.

        It is in order with all that is there: when its stream became the only one, the others had finished.
        """
        stream = self.journal.place
        if stream is None:
            return
        self._place = None
        self._latest, self._in_a_row = stream, 0
        self._asked_in = self._asked_again = 1
        works = self.journal.all()
        for noted in works:
            self._ledger.issue(stream, noted.use.name, noted.use.footprint, noted.moved)
        if works:
            self._marks.launched(self.device, stream, always=True)
        self._alone = None  # last: from here on nothing is asked of the stream, if it does not last

    def _let_wait(self, waiting: StreamId, work: Work) -> EventMark:
        found = self._marks.behind(work)
        if found is None:
            found = self._marks.mark(self.device, work.stream)
        elif self.device.done(found.event):
            self._let_go(recording=False)
            return found.stands_for
        self.device.wait(waiting, found.event)
        return found.stands_for

    def _let_go(self, *, recording: bool) -> None:
        if self._marks.passed(self.device, recording=recording):
            self._ledger.synchronized()

    def record(self, stream: Stream, device: int = 0) -> Event:
        """An event behind all that ``stream`` was given by launches."""
        with self.lock:
            self._take_in_noted()
            identity = self.device.stream(device, stream)
            return Event(self._order.record(identity), self.device.record(identity))

    def wait(self, stream: Stream, event: Event, device: int = 0) -> None:
        """``stream`` runs nothing more before ``event``; launches on it are in order with what lies behind that."""
        with self.lock:
            self._take_in_noted()
            identity = self.device.stream(device, stream)
            self.device.wait(identity, event.driver)
            self._order.wait(identity, event.mark)

    def synchronize(self) -> None:
        """Wait for everything; raises `InFlightConflict` for memory that moved meanwhile."""
        with self.lock:
            place, self._place = self.journal.place, None
            noted = self.journal.all()
            if place is not None:
                self.device.synchronize(self.device.record(place))
            self._alone = None
            self._marks.synchronize(self.device)
            self._in_a_row = SETTLED
            try:
                self._ledger.synchronized()
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
        with self.lock:
            self._marks.all(self.device)
            event = self.device.record(self.device.stream(device, stream))
        while not self.device.done(event):
            await asyncio.sleep(pause)
            pause = min(2 * pause, ASKED_LAST_S)
        with self.lock:
            self.look()

    def _settle(self) -> None:
        """Let go of what has finished; records nothing, so that any thread may call it."""
        with self.lock:
            complain(list(self.journal.finished(self.device.done)))
            self._let_go(recording=False)

    @property
    def count(self) -> int:
        """Launches that are not known to have finished."""
        with self.lock:
            return self.journal.count + self._marks.again + len(self._ledger.in_flight)


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
    from ..backend.gpu.driver import CudaDevice

    return InFlight(CudaDevice())


# ----------------------------------------------------------------------------------------------------------- completion
# When work in flight is done, told to whoever asked: one thread for all, which lives as long as somebody waits.


E = TypeVar("E")  # the event of a driver

ASKED_FIRST_S: Final = 20e-6
ASKED_LAST_S: Final = 1e-3
"""Seconds between two questions to the driver, growing from the first to the last."""


@dataclass(eq=False, slots=True)
class _Awaited(Generic[E]):
    event: E
    settle: Callable[[], None]
    future: Future[None]


@dataclass(eq=False)
class Completion(Generic[E]):
    """``done(event)`` asks the driver.  An event is asked now and then, so that no launch needs a thread of its own."""

    done: Callable[[E], bool]
    _awaited: list[_Awaited[E]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def future(self, event: E, settle: Callable[[], None]) -> Future[None]:
        """Done behind ``event`` and ``settle()``, whose error is its own; callbacks run in the thread that asks."""
        future: Future[None] = Future()
        with self._lock:
            self._awaited.append(_Awaited(event, settle, future))
            if self._thread is None:
                self._thread = threading.Thread(target=self._ask, name="tileverify: work in flight", daemon=True)
                self._thread.start()
        return future

    def _ask(self) -> None:
        pause = ASKED_FIRST_S
        while True:
            with self._lock:
                waiting = list(self._awaited)
                if not waiting:
                    self._thread = None
                    return
            ready = [each for each in waiting if each.future.cancelled() or _over(self.done, each)]
            with self._lock:
                self._awaited = [each for each in self._awaited if each not in ready]
            for each in ready:
                if not each.future.cancelled():
                    _tell(each)
            if ready:
                pause = ASKED_FIRST_S
            else:
                time.sleep(pause)
                pause = min(2 * pause, ASKED_LAST_S)


def _over(done: Callable[[E], bool], each: _Awaited[E]) -> bool:
    """Also where the driver reports an error, which `_tell` meets again."""
    try:
        return done(each.event)
    except Exception as error:
        each.settle = _raising(error)
        return True


def _raising(error: Exception) -> Callable[[], None]:
    def settle() -> None:
        raise error

    return settle


def _tell(each: _Awaited[E]) -> None:
    if not each.future.set_running_or_notify_cancel():
        return
    try:
        each.settle()
    except Exception as error:
        each.future.set_exception(error)
    else:
        each.future.set_result(None)
