"""Random interleavings on four streams: launches, events, waits, frees, moved memory, graph replays, progress.

Launches go the way that programs go (`Remembered`, `Graph`, `InFlight`) to a device that runs them in an order of its
own, as far as streams and events let it.  A model tells what is ordered; tensors tell when they die.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.backend.ledger.model import Model
from tests.launching.imitation import Tensor, imitate
from tests.profiles import tries

from tileverify.backend.ledger import LEGACY, ByteAccess, InFlightConflict, StreamId
from tileverify.launching import launch_log
from tileverify.launching.graphs import Graph
from tileverify.launching.in_flight import InFlight
from tileverify.launching.launch_cache import Planned, Remembered
from tileverify.launching.launch_log import Journal, Use

pytestmark = pytest.mark.random

STREAMS = {
    each.handle: each
    for each in (StreamId(0, LEGACY), StreamId(0, 1), StreamId(0, 3, blocking=False), StreamId(0, 4, blocking=False))
}
INTERLEAVINGS = tries(short=1_600, long=40_000)
STEPS = 24
BATCH = 3
SIZE = 64

Ran = Callable[[int, tuple[ByteAccess, ...]], None]


class Buffer(Tensor):
    """A tensor that says when its memory goes back."""

    def __init__(self, address: int, freed: Callable[[int], None]) -> None:
        super().__init__(address, (SIZE,), (1,), "int8")
        self.freed = freed

    def __del__(self) -> None:
        self.freed(self.address)


@dataclass(frozen=True)
class Stream:
    cuda_stream: int


@dataclass
class Device:
    """A device that runs what streams and events allow, when it likes; an event is the nodes before it, as bits."""

    model: Model = field(default_factory=Model)
    finished: int = 0  # bits
    current: tuple[int, tuple[ByteAccess, ...]] | None = (
        None  # the stream and the accesses of a launch that is asked for
    )
    waiting: bool = False
    waits: int = 0
    draw: random.Random = field(default_factory=lambda: random.Random(1))

    def stream(self, device: int, stream: Any) -> StreamId:
        return STREAMS[stream.cuda_stream]

    def record(self, stream: StreamId) -> int:
        node = self.model.node(stream, (), is_work=False)
        return node | self.model.ancestors[node.bit_length() - 1]

    def wait(self, stream: StreamId, event: int) -> None:
        if self.current is not None:
            # Behind its first wait a launch may be in order with all, but it was found that it was not.
            assert self.waiting or self.model.unordered(stream, self.current[1]), "what is ordered was made to wait"
            self.waiting = True
            self.waits += 1
        self.model.streams[stream] = self.model.streams.get(stream, 0) | event

    def done(self, event: int) -> bool:
        if self.draw.random() < 0.5:  # it goes on while it is asked
            self.progress(self.draw)
        if event & ~self.finished:
            return False
        self.model.host |= event
        return True

    def synchronize(self, event: int) -> None:
        self.finished |= event
        self.model.host |= event

    def run(self, handle: int, accesses: tuple[ByteAccess, ...]) -> None:
        """A launch reaches the device."""
        assert not self.model.unordered(STREAMS[handle], accesses), "what is unordered slipped through"
        self.model.node(STREAMS[handle], accesses, is_work=True)

    def progress(self, draw: random.Random) -> None:
        """One more node is finished, if there is one whose ancestors are."""
        ready = [
            node
            for node, behind in enumerate(self.model.ancestors)
            if not self.finished >> node & 1 and not behind & ~self.finished
        ]
        if ready:
            self.finished |= 1 << draw.choice(ready)

    def uses(self, address: int) -> bool:
        """Whether what has not finished touches an address."""
        return any(
            access.start <= address < access.end
            for node, accesses in enumerate(self.model.accesses)
            if not self.finished >> node & 1
            for access in accesses
        )


@dataclass
class Plan:
    accesses: tuple[ByteAccess, ...]
    ran: Ran
    kernel: Any = None
    alive: tuple[Any, ...] = ()

    def launch(self, stream: Stream) -> None:
        self.ran(stream.cuda_stream, self.accesses)

    def bound(self, handle: int) -> Callable[[], int]:
        def go() -> int:
            self.ran(handle, self.accesses)
            return 0

        return go


@dataclass
class Backend:
    """A graph of the driver."""

    ran: Ran
    accesses: tuple[ByteAccess, ...] = ()

    def __call__(self, device: int) -> Backend:
        return self

    def add(self, plan: Any, after: Sequence[Any], *, early: bool = False) -> Any:
        self.accesses += plan.accesses

    def finish(self) -> None:
        pass

    def change(self, handle: Any, plan: Any) -> None:
        raise AssertionError

    def replay(self, stream: object) -> None:
        assert isinstance(stream, Stream)
        self.ran(stream.cuda_stream, self.accesses)


@dataclass
class Memory:
    """Where buffers lie, and what became of those that were dropped."""

    device: Device
    last: int = 0
    made: int = 0
    dead: int = 0
    early: list[int] = field(default_factory=list)

    def address(self) -> int:
        self.last += 1000
        return self.last

    def buffer(self) -> Buffer:
        self.made += 1
        return Buffer(self.address(), self.freed)

    def freed(self, address: int) -> None:
        self.dead += 1
        if self.device.uses(address):
            self.early.append(address)


KINDS = ("launch",) * 8 + ("progress",) * 4 + ("capture", "replay", "record", "wait", "free", "move", "sync")


class Play:
    """One interleaving."""

    def __init__(self, seed: int, *, strict: bool) -> None:
        self.draw = random.Random(seed)
        self.device = Device()
        self.memory = Memory(self.device)
        self.work = InFlight(self.device, strict, Journal(left=BATCH))
        self.kernel = Remembered(self.work)
        self.buffers = [self.memory.buffer() for _ in range(4)]
        self.graphs: list[Graph] = []
        self.events: list[Any] = []
        self.favourite, self.faithful = 1, self.draw.choice((0.3, 0.9, 1.0))  # many programs have one stream
        self.launches = self.at_once = self.refused = 0
        self.complaints, self.due = 0, 0  # of memory that moved; so many there have to be at least

    def step(self) -> None:
        if self.draw.random() < 0.05:
            self.favourite = self.draw.choice(list(STREAMS))
        stream = Stream(self.favourite if self.draw.random() < self.faithful else self.draw.choice(list(STREAMS)))
        try:
            self.do(self.draw.choice(KINDS), stream)
        except InFlightConflict as error:
            if "was moved" in error.message:
                self.complaints += 1
                return
            assert self.work.strict
            assert self.device.current is not None
            wrong = self.device.model.unordered(STREAMS[stream.cuda_stream], self.device.current[1])
            assert wrong, "what is ordered was refused"
            self.refused += 1
        finally:
            self.device.current = None

    def do(self, kind: str, stream: Stream) -> None:
        match kind:
            case "launch":
                drawn = self.draw.choices(self.buffers, k=self.draw.choice((1, 2, 2, 3)))
                self.launch(stream, self.buffers[:2] if self.draw.random() < 0.5 else drawn)
            case "capture" if len(self.graphs) < 2:
                self.graphs.append(self.captured())
            case "replay" if self.graphs:
                graph = self.graphs.pop() if self.draw.random() < 0.3 else self.draw.choice(self.graphs)
                assert graph._use is not None
                given = [each for node in graph._nodes for each in node.kept if isinstance(each, Buffer)]
                if {each.address for each in given} == graph._use.starts:
                    self.asked(stream, graph._use.accesses)
                    graph.replay(stream)
            case "record":
                self.events.append(self.work.record(stream))
            case "wait" if self.events:
                self.work.wait(stream, self.draw.choice(self.events))
            case "free":
                self.buffers[self.draw.randrange(4)] = self.memory.buffer()
            case "move" if self.draw.random() < 0.3:
                self.move(self.draw.choice(self.buffers))
            case "sync" if self.draw.random() < 0.3:
                self.work.synchronize()
            case _:
                self.device.progress(self.draw)

    def planned(self, arguments: Sequence[Any]) -> Planned:
        """The last argument is written."""
        last = len(arguments) - 1
        accesses = tuple(ByteAccess(e.address, e.address + SIZE, n == last, f"a{n}") for n, e in enumerate(arguments))
        plan: Any = Plan(accesses, self.device.run)
        return Planned(plan, Use("kernel", 0, accesses), again=True)

    def captured(self) -> Graph:
        planned = self.planned
        graph = Graph(lambda grid, kernel, arguments, **_: planned(arguments), Backend(self.device.run), self.work)
        with graph:
            for _ in range(2):
                graph.launch((1,), None, tuple(self.draw.sample(self.buffers, 2)))
        return graph

    def asked(self, stream: Stream, accesses: tuple[ByteAccess, ...]) -> None:
        self.device.current, self.device.waiting = (stream.cuda_stream, accesses), False
        self.launches += 1

    def launch(self, stream: Stream, arguments: Sequence[Buffer]) -> None:
        planned = self.planned(arguments)
        self.asked(stream, planned.use.accesses)
        if len(arguments) != 2:
            self.work.launch(stream, planned.use, arguments, planned.plan.launch)
        elif self.kernel.again(stream, (1,), arguments):
            self.at_once += 1
        elif not self.kernel.launch(stream, (1,), arguments):
            self.kernel.first(stream, (1,), arguments, planned)

    def move(self, buffer: Buffer) -> None:
        """A framework gives a tensor other memory: complained of, at the latest, when all has finished."""
        if self.device.uses(buffer.address):
            self.due = max(self.due, self.complaints + 1)
        buffer.address = self.memory.address()

    def end(self) -> None:
        """Everything finishes, and everything that was dropped is free."""
        try:
            self.work.synchronize()
        except InFlightConflict:
            self.complaints += 1
        assert self.work.count == 0
        assert self.complaints >= self.due, "memory moved, and nobody said so"
        self.graphs.clear()
        assert not self.memory.early, "memory was freed under work in flight"
        assert self.memory.made - self.memory.dead == len(self.buffers), "memory was not let go"


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_log, "POLLED_EVERY", BATCH)
    imitate(monkeypatch)


@pytest.mark.parametrize("strict", [False, True])
def test_nothing_unordered_slips_through_and_nothing_ordered_is_refused(strict: bool) -> None:
    totals = {"launches": 0, "at_once": 0, "refused": 0, "complaints": 0, "due": 0}
    waits = dead = 0
    for seed in range(INTERLEAVINGS // 2):
        play = Play(seed, strict=strict)
        try:
            for _ in range(STEPS):
                play.step()
            play.end()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        waits += play.device.waits
        dead += play.memory.dead
        for name in totals:
            totals[name] += getattr(play, name)
    assert totals["launches"] > 4 * INTERLEAVINGS
    assert totals["at_once"] > INTERLEAVINGS // 4
    assert dead > INTERLEAVINGS // 4
    assert totals["due"] > INTERLEAVINGS // 50
    assert (totals["refused"] if strict else waits) > INTERLEAVINGS // 4
