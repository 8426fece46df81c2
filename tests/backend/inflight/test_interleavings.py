"""Random interleavings of launches, events, waits and graph replays on three streams, against a model.

The model knows nothing of clocks: it draws an edge for everything that CUDA orders and asks for paths.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from tileverify.backend.inflight import LEGACY, Access, EventMark, InFlightConflict, Ledger, Order, StreamId, Work

STREAMS = (StreamId(0, LEGACY), StreamId(0, 1), StreamId(0, 2, blocking=False))
INTERLEAVINGS = 10_000
STEPS = 14


@dataclass
class Model:
    """Nodes are work and recorded events; ``ancestors`` has a bit for every node that comes before."""

    ancestors: list[int] = field(default_factory=list)
    accesses: list[tuple[Access, ...]] = field(default_factory=list)
    streams: dict[StreamId, int] = field(default_factory=dict)  # bits of what the next node of a stream is behind
    host: int = 0

    def node(self, stream: StreamId, accesses: tuple[Access, ...], *, is_work: bool) -> int:
        behind = self.behind(stream, is_work=is_work)
        self.ancestors.append(behind)
        self.accesses.append(accesses)
        bit = 1 << (len(self.ancestors) - 1)
        self.streams[stream] = behind | bit
        return bit

    def behind(self, stream: StreamId, *, is_work: bool = True) -> int:
        behind = self.streams.get(stream, 0)
        if not is_work:
            return behind
        behind |= self.host
        for other, bits in self.streams.items():
            legacy = LEGACY in (other.handle, stream.handle)
            if other != stream and legacy and other.blocking and stream.blocking:
                behind |= bits
        return behind

    def unordered(self, stream: StreamId, accesses: tuple[Access, ...]) -> bool:
        """Whether a launch now would conflict with work that is not before it."""
        behind = self.behind(stream)
        return any(
            not behind >> node & 1 and any(a.conflicts_with(b) for a in accesses for b in theirs)
            for node, theirs in enumerate(self.accesses)
        )

    def races(self) -> list[tuple[int, int]]:
        return [
            (i, j)
            for j, behind in enumerate(self.ancestors)
            for i in range(j)
            if not behind >> i & 1
            if any(a.conflicts_with(b) for a in self.accesses[i] for b in self.accesses[j])
        ]


class Play:
    """One interleaving, played to the ledger and to the model."""

    def __init__(self, seed: int, *, strict: bool) -> None:
        self.random = random.Random(seed)
        self.model = Model()
        self.ledger = Ledger(Order(), self._inserted, strict)
        self.events: list[tuple[EventMark, int]] = []
        self.works: list[tuple[Work, int]] = []
        self.waits = 0

    def _inserted(self, waiting: StreamId, stream: StreamId) -> None:
        """The ledger records an event on one stream and lets another wait for it."""
        self.waits += 1
        event = self.model.node(stream, (), is_work=False)
        self.model.streams[waiting] = (
            self.model.streams.get(waiting, 0) | event | self.model.ancestors[event.bit_length() - 1]
        )

    def accesses(self) -> tuple[Access, ...]:
        starts = [self.random.randrange(0, 5) * 64 for _ in range(self.random.choice((1, 2, 2, 5)))]
        return tuple(
            Access(start, start + self.random.choice((0, 64, 100)), self.random.random() < 0.4) for start in starts
        )

    def step(self) -> None:
        stream = self.random.choice(STREAMS)
        match self.random.choice(("launch", "launch", "launch", "graph", "event", "wait", "wait", "sync", "done")):
            case "launch" | "graph":
                self.launch(stream)
            case "event":
                mark = self.ledger.order.record(stream)
                self.events.append((mark, self.model.node(stream, (), is_work=False)))
            case "wait" if self.events:
                mark, node = self.random.choice(self.events)
                self.ledger.order.wait(stream, mark)
                behind = node | self.model.ancestors[node.bit_length() - 1]
                self.model.streams[stream] = self.model.streams.get(stream, 0) | behind
            case "sync" if self.random.random() < 0.3:
                self.ledger.order.synchronize(stream)
                self.model.host |= self.model.streams.get(stream, 0)
                self.ledger.synchronized()
            case "done" if self.works and self.random.random() < 0.5:
                # The device says that some work is over; everything issued later is behind it.
                work, node = self.random.choice(self.works)
                self.ledger.finished([work])
                self.model.host |= node | self.model.ancestors[node.bit_length() - 1]
            case _:
                pass

    def launch(self, stream: StreamId) -> None:
        accesses = self.accesses()
        wrong = self.model.unordered(stream, accesses)
        if self.ledger.strict:
            try:
                ticket = self.ledger.launch(stream, "launch", accesses)
            except InFlightConflict:
                assert wrong, "what is ordered was refused"
                return
            assert not wrong, "what is unordered slipped through"
        else:
            before = self.waits
            ticket = self.ledger.launch(stream, "launch", accesses)
            assert (self.waits > before) == wrong, "a wait too many, or one too few"
        self.works.append((ticket.work, self.model.node(stream, accesses, is_work=True)))


@pytest.mark.parametrize("strict", [False, True])
def test_nothing_unordered_slips_through_and_nothing_ordered_is_refused(strict: bool) -> None:
    waits = launches = 0
    for seed in range(INTERLEAVINGS):
        play = Play(seed, strict=strict)
        for _ in range(STEPS):
            play.step()
        assert not play.model.races(), seed
        waits += play.waits
        launches += len(play.works)
    assert launches > 3 * INTERLEAVINGS
    assert strict or waits > INTERLEAVINGS // 2, "the interleavings hardly conflict"
