"""Events behind the launches on several streams: they say what has finished, and what another stream has to wait for.

An event costs the host as much as a third of a launch, so that not every launch has one:

* of a stream that is `lasting`, every `MARKED_EVERY`-th launch has one, the first one that nobody knows to have
  finished, and whichever is waited for: that event is recorded when the wait is needed, behind all that the stream was
  given by then.  An event that is there is taken where it lies behind what is waited for.
* of every other stream each launch has one, which is recorded at once and in the thread of the launch.  Nothing is
  asked of the stream itself later on: it may be gone, or its handle mean another one in another thread.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from ..backend.ledger import EventMark, Order, StreamId, Work

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
