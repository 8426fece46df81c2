"""Futures of work in flight: done in time, told once, by one thread for all of them."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.launching.imitation import Device, Stream, Tensor

from tileverify.backend.ledger import ByteAccess, InFlightConflict
from tileverify.launching.in_flight import Completion, InFlight
from tileverify.launching.launch_log import Use

WAIT_S = 30


@dataclass
class Events:
    """Events are numbers; those up to ``reached`` are over."""

    reached: int = 0
    asked_by: set[str] = field(default_factory=set)

    def done(self, event: int) -> bool:
        self.asked_by.add(threading.current_thread().name)
        return event <= self.reached


def nothing() -> None:
    pass


def test_futures_are_done_when_their_events_are() -> None:
    events, told = Events(), []
    completion = Completion(events.done)
    futures = [completion.future(number, nothing) for number in (3, 1, 2)]
    for number, future in zip((3, 1, 2), futures, strict=True):
        future.add_done_callback(lambda _, number=number: told.append(number))  # type: ignore[misc]
    assert not wait(futures, timeout=0.02).done
    for number in (1, 2, 3):
        events.reached = number
        wait([futures[number % 3]], timeout=WAIT_S)
        assert [each.done() for each in futures] == [number >= 3, number >= 1, number >= 2]
    assert told == [1, 2, 3]
    assert len(events.asked_by) == 1, "one thread asks"


def test_the_thread_ends_and_begins_again() -> None:
    events = Events(reached=9)
    completion = Completion(events.done)
    for _ in range(3):
        completion.future(1, nothing).result(WAIT_S)
        thread = completion._thread
        if thread is not None:
            thread.join(WAIT_S)
        assert completion._thread is None


def test_errors_belong_to_those_who_wait() -> None:
    def lost(event: int) -> bool:
        raise RuntimeError("the device is lost")

    with pytest.raises(RuntimeError, match="the device is lost"):
        Completion(lost).future(1, nothing).result(WAIT_S)
    both = Completion(Events(reached=1).done)
    settled: list[int] = []

    def wrong() -> None:
        raise InFlightConflict("moved (TV504)")

    first, second = both.future(1, wrong), both.future(1, lambda: settled.append(1))
    with pytest.raises(InFlightConflict):
        first.result(WAIT_S)
    second.result(WAIT_S)
    assert settled == [1]


def test_who_gives_up_is_not_told() -> None:
    events, settled = Events(), []
    completion = Completion(events.done)
    given_up, kept = (completion.future(1, lambda: settled.append(1)) for _ in range(2))
    assert given_up.cancel()
    events.reached = 1
    kept.result(WAIT_S)
    assert settled == [1]


# ------------------------------------------------------------------------------------------------ of launches
class Arrives(Device):
    """A device whose events are over when they are set free."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()

    def done(self, event: Any) -> bool:
        return self.free.is_set()


def launched(work: InFlight, tensor: Tensor) -> Future[None]:
    use = Use("writer", 0, (ByteAccess(tensor.address, tensor.address + 128, True, "x"),))
    work.launch(Stream(11), use, (tensor,), lambda stream: None)
    return work.future(Stream(11))


def test_a_launch_calls_back() -> None:
    device, called = Arrives(), threading.Event()
    work = InFlight(device)
    future = launched(work, Tensor())
    future.add_done_callback(lambda _: called.set())
    assert work.count == 1
    assert not called.is_set()
    device.free.set()
    assert called.wait(WAIT_S)
    assert work.count == 0


def test_a_coroutine_awaits_a_launch() -> None:
    device = Arrives()
    work = InFlight(device)

    async def program() -> list[str]:
        order: list[str] = []

        async def done() -> None:
            await asyncio.wrap_future(launched(work, Tensor()))
            order.append("done")

        waiting = asyncio.create_task(done())
        await asyncio.sleep(0.01)
        order.append("meanwhile")
        device.free.set()
        await waiting
        return order

    assert asyncio.run(program()) == ["meanwhile", "done"]


def test_memory_that_moved_is_told() -> None:
    device, tensor = Arrives(), Tensor()
    future = launched(InFlight(device), tensor)
    tensor.address = 1 << 20
    device.free.set()
    with pytest.raises(InFlightConflict, match=r"was moved or freed while 'writer' used it \(TV504\)"):
        future.result(WAIT_S)
