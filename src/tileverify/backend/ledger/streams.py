"""What comes before what: work on streams, events, and the host that issues it all.

Source: CUDA programming guide, "Streams" and "Events".  Work of one stream runs in the order it was issued.  An event
stands for what its stream had been given when it was recorded; a stream that waits for it runs nothing later before
that has finished.  Work of the legacy default stream waits for what all blocking streams of its device have been given,
and they wait for it.  What the host has waited for is before all that it issues later.

A *clock* maps a stream to the number of its latest work that is known to be before; clocks are joined by the maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class StreamId:
    """A stream of a device; ``blocking``: it is ordered with the legacy default stream."""

    device: int
    handle: int
    blocking: bool = True


LEGACY: Final = 0
"""The handle of the legacy default stream."""


@dataclass(frozen=True, slots=True)
class Work:
    """The ``number``-th work of a stream, counted from 1."""

    stream: StreamId
    number: int


@dataclass(frozen=True, slots=True)
class EventMark:
    """What an event stands for: a clock."""

    clock: Mapping[StreamId, int]


@dataclass
class Order:
    """Happens-before of all work, in the order in which the host issues it (one thread at a time)."""

    _clocks: dict[StreamId, dict[StreamId, int]] = field(default_factory=dict)
    _host: dict[StreamId, int] = field(default_factory=dict)

    def before(self, work: Work, stream: StreamId) -> bool:
        """Whether ``work`` has finished before anything runs that ``stream`` is given next."""
        if work.stream == stream or self.seen_by_host(work):
            return True
        if self._clock(stream).get(work.stream, 0) >= work.number:
            return True
        # The legacy stream is joined only when work is issued, so that it can be asked about here without a change.
        return any(self._clock(other).get(work.stream, 0) >= work.number for other in self._joined_by(stream))

    def seen_by_host(self, work: Work) -> bool:
        """Whether the host has waited for ``work``."""
        return self._host.get(work.stream, 0) >= work.number

    def issue(self, stream: StreamId) -> Work:
        """Give ``stream`` the next work."""
        clock = self._clock(stream)
        for other in self._joined_by(stream):
            _join(clock, self._clock(other))
        clock[stream] = clock.get(stream, 0) + 1
        return Work(stream, clock[stream])

    def record(self, stream: StreamId) -> EventMark:
        """An event recorded on ``stream`` now.

        Whether recording counts as work that waits for the legacy stream is not said, so no such order is claimed.
        """
        return EventMark(dict(self._clock(stream)))

    def wait(self, stream: StreamId, event: EventMark) -> None:
        """``stream`` runs what it is given from now on behind ``event``."""
        _join(self._clock(stream), event.clock)

    def synchronize(self, what: StreamId | EventMark | None = None) -> None:
        """The host waits for a stream, an event, or everything."""
        if isinstance(what, EventMark):
            _join(self._host, what.clock)
        elif what is not None:
            _join(self._host, self.record(what).clock)
        else:
            for clock in self._clocks.values():
                _join(self._host, clock)

    def _clock(self, stream: StreamId) -> dict[StreamId, int]:
        return self._clocks.setdefault(stream, {})

    def _joined_by(self, stream: StreamId) -> list[StreamId]:
        """The streams whose work the legacy rule puts before the next work of ``stream``."""
        if stream.handle == LEGACY:
            return [s for s in self._clocks if s.device == stream.device and s.blocking and s != stream]
        legacy = StreamId(stream.device, LEGACY)
        return [legacy] if stream.blocking and legacy in self._clocks else []


def _join(clock: dict[StreamId, int], other: Mapping[StreamId, int]) -> None:
    for stream, number in other.items():
        if clock.get(stream, 0) < number:
            clock[stream] = number
