"""Random interleavings of launches, events, waits and graph replays on three streams: the ledger against a model."""

from __future__ import annotations

import random

import pytest
from tests.backend.ledger.model import Model
from tests.profiles import tries

from tileverify.backend.ledger import (
    LEGACY,
    ByteAccess,
    EventMark,
    InFlightConflict,
    LaunchBytes,
    Ledger,
    Order,
    StreamId,
    Work,
)

pytestmark = pytest.mark.random

STREAMS = (StreamId(0, LEGACY), StreamId(0, 1), StreamId(0, 2, blocking=False))
INTERLEAVINGS = tries(short=3_000, long=30_000)
STEPS = 14


class Play:
    """One interleaving, played to the ledger and to the model."""

    def __init__(self, seed: int, *, strict: bool) -> None:
        self.random = random.Random(seed)
        self.model = Model()
        self.ledger = Ledger(Order(), self._inserted, strict)
        self.events: list[tuple[EventMark, int]] = []
        self.works: list[tuple[EventMark, int]] = []  # what the work and all before it are
        self.waits = 0

    def _inserted(self, waiting: StreamId, work: Work) -> EventMark:
        """The ledger records an event on one stream and lets another wait for it."""
        self.waits += 1
        event = self.model.node(work.stream, (), is_work=False)
        self.model.streams[waiting] = (
            self.model.streams.get(waiting, 0) | event | self.model.ancestors[event.bit_length() - 1]
        )
        return self.ledger.order.record(work.stream)

    def accesses(self) -> tuple[ByteAccess, ...]:
        starts = [self.random.randrange(0, 5) * 64 for _ in range(self.random.choice((1, 2, 2, 5)))]
        return tuple(
            ByteAccess(start, start + self.random.choice((0, 64, 100)), self.random.random() < 0.4) for start in starts
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
                mark, node = self.random.choice(self.works)
                self.ledger.order.synchronize(mark)
                self.ledger.synchronized()
                self.model.host |= node | self.model.ancestors[node.bit_length() - 1]
            case _:
                pass

    def launch(self, stream: StreamId) -> None:
        accesses = self.accesses()
        wrong = self.model.unordered(stream, accesses)
        if self.ledger.strict:
            try:
                self.ledger.launch(stream, "launch", LaunchBytes(accesses))
            except InFlightConflict:
                assert wrong, "what is ordered was refused"
                return
            assert not wrong, "what is unordered slipped through"
        else:
            before = self.waits
            self.ledger.launch(stream, "launch", LaunchBytes(accesses))
            assert (self.waits > before) == wrong, "a wait too many, or one too few"
        mark = self.ledger.order.record(stream)
        self.works.append((mark, self.model.node(stream, accesses, is_work=True)))


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
