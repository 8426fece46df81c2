"""The index of bytes in flight against a look at every launch: random ranges, rows, groups, and what is left out."""

from __future__ import annotations

import random

import pytest
from tests.profiles import tries

from tileverify.backend import ledger as index_module
from tileverify.backend.ledger import (
    APART,
    ByteAccess,
    ByteIndex,
    ByteRegion,
    EventMark,
    LaunchBytes,
    Ledger,
    Order,
    StreamId,
    Work,
)
from tileverify.backend.ledger.ordered_work import conflicts

pytestmark = pytest.mark.random

STREAMS = [StreamId(0, handle, blocking=False) for handle in range(1, 6)]


def drawn(draw: random.Random, bytes_: int) -> ByteAccess:
    start = draw.randrange(bytes_)
    period = draw.choice((0, 0, 0, 8, 12))
    width = draw.randrange(1, period) if period else 0
    length = draw.choice((0, 1, 5, 20, 20, bytes_))
    return ByteAccess(start, start + length, draw.random() < 0.4, "", period, width)


def footprint(draw: random.Random, bytes_: int) -> LaunchBytes:
    return LaunchBytes(drawn(draw, bytes_) for _ in range(draw.choice((1, 2, 3, 3, APART + 4))))


class Plain:
    """Launches that wait for whatever they have to; every one is looked at."""

    def __init__(self) -> None:
        self.order = Order()
        self.ledger = Ledger(self.order, self.waited)
        self.made: list[tuple[Work, LaunchBytes]] = []
        self.waits = 0

    def waited(self, stream: StreamId, work: Work) -> EventMark:
        assert not self.order.before(work, stream), "what is ordered is waited for"
        self.waits += 1
        return self.order.record(work.stream)

    def unordered(self, stream: StreamId, touched: LaunchBytes) -> bool:
        return any(
            not self.order.before(work, stream) and any(conflicts(touched.accesses, other.accesses))
            for work, other in self.made
        )

    def launch(self, stream: StreamId, touched: LaunchBytes) -> None:
        waits, wrong = self.waits, self.unordered(stream, touched)
        number = self.ledger.launch(stream, "launch", touched)
        assert (self.waits > waits) == wrong
        assert not self.unordered(stream, touched), "it was not waited for enough"
        self.made.append((Work(stream, number), touched))


def test_a_launch_waits_as_if_every_other_one_were_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "ROOM", 6)
    waits = quiet = swept = 0
    for seed in range(tries(short=400, long=6000)):
        draw = random.Random(seed)
        bytes_ = draw.choice((30, 100, 400))
        plain, known = Plain(), [footprint(draw, bytes_) for _ in range(6)]
        for _ in range(30):
            stream = draw.choice(STREAMS[: 2 + seed % 4])
            before = plain.waits
            plain.launch(stream, draw.choice(known) if draw.random() < 0.7 else footprint(draw, bytes_))
            quiet += plain.waits == before
            if draw.random() < 0.1:
                plain.order.synchronize(draw.choice(STREAMS))
                plain.ledger.synchronized()
            if draw.random() < 0.1:
                plain.order.wait(draw.choice(STREAMS), plain.order.record(draw.choice(STREAMS)))
        waits += plain.waits
        swept += len(plain.ledger._index) < len({part for _, each in plain.made for part, _ in each.parts()})
    assert waits > tries(short=1500, long=20000)
    assert quiet > tries(short=1500, long=20000)
    assert swept > tries(short=100, long=1500)


def test_what_is_near_is_what_shares_a_byte() -> None:
    draw = random.Random(7)
    for _ in range(tries(short=100, long=2000)):
        index = ByteIndex(lambda stream: 0)
        regions: list[ByteRegion] = []
        for _ in range(30):
            for region, _ in index.regions(footprint(draw, 300)):
                regions.append(region)
        for one in regions:
            met = {id(other) for other in regions if one.meets(other)}
            assert met == {id(other) for other in one.near}


def test_the_same_launch_is_found_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    index = ByteIndex(lambda stream: 0)
    touched = LaunchBytes([ByteAccess(0, 10, True), ByteAccess(20, 30, False)])
    first = index.regions(touched)
    monkeypatch.setattr(ByteIndex, "_region", None)
    assert index.regions(touched) is first


def test_an_open_number_is_closed_by_whoever_comes_in_between() -> None:
    """Until then the same launch may be made again, and nobody is told."""
    a, b, _, _, _ = STREAMS
    order = Order()
    ledger = Ledger(order, lambda waiting, work: order.record(work.stream))
    write, read = LaunchBytes([ByteAccess(0, 10, True)]), LaunchBytes([ByteAccess(0, 10, False)])
    apart = LaunchBytes([ByteAccess(50, 60, True)])
    number = ledger.launch(a, "writer", write)
    ledger.launch(b, "apart", apart)
    assert order.open == {a: number, b: number + 1}
    assert ledger.launch(a, "again", write) == number
    ledger.launch(b, "reader", read)
    assert a not in order.open, "the writer would have to wait for the reader"
    later = ledger.launch(a, "writer", write)
    assert later > number
    order.record(a)
    assert a not in order.open, "an event stands for what came before it"
    order.synchronize(b)
    assert b not in order.open


def test_reads_leave_each_other_alone() -> None:
    a, b, _, _, _ = STREAMS
    order = Order()
    ledger = Ledger(order, lambda waiting, work: order.record(work.stream))
    read = [LaunchBytes([ByteAccess(0, 10, False)]) for _ in range(2)]
    numbers = {stream: ledger.launch(stream, "reader", each) for stream, each in zip((a, b), read, strict=True)}
    assert order.open == numbers
