"""Launches on several streams: order where they conflict, arguments that live, memory that stays."""

from __future__ import annotations

import asyncio
import weakref
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.launching.imitation import Device, Stream, alive

from tileverify.backend.ledger import PER_THREAD, ByteAccess, InFlightConflict, StreamId
from tileverify.launching.in_flight import MARKED_EVERY, InFlight
from tileverify.launching.launch_log import MOST_BYTES, POLLED_EVERY, Use


@dataclass(eq=False)
class Tensor:
    address: int

    def data_ptr(self) -> int:
        return self.address


@dataclass
class Recorder(Device):
    """A device that writes down what was launched on it."""

    launched: list[tuple[int, str]] = field(default_factory=list)


A, B, C = Stream(11), Stream(12), Stream(13)
X, Y = Tensor(1000), Tensor(2000)


def use(name: str, *accesses: tuple[Tensor, bool], device: int = 0) -> Use:
    spans = [ByteAccess(each.address, each.address + 500, write, f"a{each.address}") for each, write in accesses]
    return Use(name, device, tuple(spans))


WRITE_X, READ_X = use("writer", (X, True)), use("reader", (X, False))
WRITE_Y = use("other", (Y, True))


@pytest.fixture
def device() -> Recorder:
    return Recorder()


@pytest.fixture
def work(device: Recorder) -> InFlight:
    return InFlight(device)


def launch(work: InFlight, stream: Any, use: Use, *arguments: Any) -> None:
    device = work.device
    assert isinstance(device, Recorder)

    def make(given: Any) -> None:
        assert given is stream
        device.launched.append((getattr(stream, "cuda_stream", stream), use.name))

    work.launch(stream, use, arguments, make)


def test_one_stream_needs_no_events(work: InFlight, device: Recorder) -> None:
    for _ in range(10):
        launch(work, A, WRITE_X, X)
        launch(work, A, READ_X, X)
    assert len(device.launched) == 20
    assert device.recorded == 0
    assert work.count == 20


def test_a_conflict_on_another_stream_waits(work: InFlight, device: Recorder) -> None:
    launch(work, A, WRITE_X, X)
    launch(work, B, READ_X, X)
    assert device.waits == [(12, 11)]
    launch(work, B, READ_X, X)
    assert device.waits == [(12, 11)]  # in order by now
    launch(work, A, WRITE_X, X)
    assert device.waits == [(12, 11), (11, 12)]


def test_other_bytes_do_not_wait(work: InFlight, device: Recorder) -> None:
    launch(work, A, WRITE_X, X)
    launch(work, B, WRITE_Y, Y)
    launch(work, C, READ_X, X)
    assert device.waits == [(13, 11)]


def test_reads_do_not_wait_for_reads(work: InFlight, device: Recorder) -> None:
    for stream in (A, B, C):
        launch(work, stream, READ_X, X)
    assert device.waits == []


def test_strict_refuses_before_it_launches(work: InFlight, device: Recorder) -> None:
    work.strict = True
    launch(work, A, WRITE_X, X)
    launch(work, A, WRITE_X, X)
    with pytest.raises(InFlightConflict, match=r"'reader' reads a1000 that 'writer', .* \(TV504\)"):
        launch(work, B, READ_X, X)
    assert [name for _, name in device.launched] == ["writer", "writer"]
    launch(work, B, WRITE_Y, Y)
    work.synchronize()
    launch(work, B, READ_X, X)


def test_what_has_finished_is_not_waited_for(work: InFlight, device: Recorder) -> None:
    launch(work, A, WRITE_X, X)
    launch(work, B, WRITE_Y, Y)
    device.finished |= {11, 12}
    launch(work, B, READ_X, X)
    assert device.waits == []
    assert work.count == 1


@pytest.mark.parametrize("after", range(9))
def test_the_device_may_finish_while_it_is_asked(after: int) -> None:
    class Late(Recorder):
        asked = 0

        def done(self, event: Any) -> bool:
            self.asked += 1
            return self.asked > after

    device = Late()
    work = InFlight(device)
    for _ in range(2):
        launch(work, A, WRITE_X, X)
        launch(work, B, WRITE_Y, Y)
        launch(work, C, use("both", (X, False), (Y, False)), X, Y)
    assert len(device.launched) == 6
    assert after < 8 or device.waits[:2] == [(13, 12), (13, 11)]
    work.synchronize()
    assert work.count == 0


def test_one_stream_again_once_all_has_finished(work: InFlight, device: Recorder) -> None:
    launch(work, A, WRITE_X, X)
    launch(work, B, READ_X, X)
    work.synchronize()
    assert work.count == 0
    recorded = device.recorded
    launch(work, B, WRITE_X, X)
    launch(work, B, WRITE_X, X)
    assert device.recorded == recorded


def test_one_stream_again_once_the_others_have_finished(work: InFlight, device: Recorder) -> None:
    launch(work, A, WRITE_X, X)
    launch(work, B, WRITE_Y, Y)
    device.finished.add(11)
    launch(work, B, WRITE_Y, Y)  # finds that A has finished
    recorded = device.recorded
    launch(work, B, WRITE_Y, Y)
    launch(work, B, WRITE_Y, Y)
    assert (device.recorded, work.count) == (recorded, 4)
    launch(work, A, WRITE_Y, Y)
    assert device.waits == [(11, 12)]
    work.synchronize()
    assert work.count == 0


def test_streams_of_two_devices(work: InFlight, device: Recorder) -> None:
    launch(work, A, WRITE_X, X)
    launch(work, A, use("far", (X, False), device=1), X)
    assert device.waits == [(11, 11)]
    assert work.count == 2


@pytest.mark.parametrize("streams", [(A, A), (A, B)])
def test_arguments_live_until_the_work_is_done(
    work: InFlight, device: Recorder, streams: tuple[Stream, Stream]
) -> None:
    tensor = Tensor(1000)
    gone = weakref.ref(tensor)
    launch(work, streams[0], WRITE_X, tensor)
    launch(work, streams[1], WRITE_Y, Y)
    del tensor
    assert alive(gone)
    work.synchronize()
    assert not alive(gone)


def test_many_launches_on_one_stream_are_let_go(work: InFlight, device: Recorder) -> None:
    device.finished.add(11)
    for _ in range(3 * POLLED_EVERY + 5):
        launch(work, A, WRITE_X, X)
    assert work.count == 5
    assert device.recorded == 3


def test_large_arrays_are_let_go_sooner(work: InFlight, device: Recorder) -> None:
    """Before there are as many launches as a batch has: results of a gigabyte each would fill the device."""
    device.finished.add(11)
    large = Use("writer", 0, (ByteAccess(X.address, X.address + MOST_BYTES // 2, write=True, what="x"),))
    for _ in range(4):
        launch(work, A, large, X)
    assert device.recorded == 2
    assert work.count == 0


def test_many_launches_that_have_not_finished_are_kept(work: InFlight, device: Recorder) -> None:
    for _ in range(2 * POLLED_EVERY):
        launch(work, A, WRITE_X, X)
    assert work.count == 2 * POLLED_EVERY
    device.finished.add(11)
    for _ in range(POLLED_EVERY):
        launch(work, A, WRITE_X, X)
    assert work.count == 0


@pytest.mark.parametrize("streams", [(A, A), (A, B)])
def test_memory_that_moves_is_found(work: InFlight, streams: tuple[Stream, Stream]) -> None:
    tensor = Tensor(1000)
    launch(work, streams[0], WRITE_X, tensor)
    launch(work, streams[1], WRITE_Y, Y)
    tensor.address = 5000
    with pytest.raises(InFlightConflict, match=r"the memory of `a1000` was moved or freed while 'writer' .*TV504"):
        work.synchronize()
    work.synchronize()  # told once


def test_arrays_that_cannot_be_asked_did_not_move(work: InFlight) -> None:
    both = use("both", (X, True), (Y, False))
    launch(work, A, both, X, object())
    launch(work, A, both, [X], (Y, 3))
    work.synchronize()


def test_many_launches_on_several_streams_need_few_events(work: InFlight, device: Recorder) -> None:
    """One for every so many, as long as nobody waits; and nothing is kept for long once it has finished."""
    for _ in range(10 * MARKED_EVERY):
        launch(work, A, WRITE_X, X)
        launch(work, B, WRITE_Y, Y)
    assert device.recorded < 2 * 10 + 6
    assert work.count == 2 * 10 * MARKED_EVERY
    device.finished |= {11, 12}
    for _ in range(2 * MARKED_EVERY):
        launch(work, A, WRITE_X, X)
        launch(work, B, WRITE_Y, Y)
    assert work.count <= 4 * MARKED_EVERY


def test_large_arrays_on_several_streams_are_let_go_sooner(work: InFlight, device: Recorder) -> None:
    launch(work, A, WRITE_X, X)
    launch(work, B, WRITE_Y, Y)
    for _ in range(4):
        launch(work, B, WRITE_Y, Y)  # asked seldom by now
    large = Tensor(1 << 40)
    gone = weakref.ref(large)
    span = ByteAccess(large.address, large.address + MOST_BYTES // 2, write=True, what="large")
    launch(work, B, Use("large", 0, (span,)), large)
    del large
    device.finished |= {11, 12}
    for number in range(2, 5):
        span = ByteAccess(number << 40, (number << 40) + MOST_BYTES // 2, write=True, what="large")
        launch(work, B, Use("large", 0, (span,)), Tensor(number << 40))
    assert not alive(gone)


def test_a_wait_is_for_the_earliest_event_that_is_there() -> None:
    class Numbered(Recorder):
        """An event is 1000 times its stream, and how many launches there were."""

        def record(self, stream: Any) -> Any:
            super().record(stream)
            return 1000 * stream.handle + len(self.launched)

    device = Numbered()
    work = InFlight(device)
    launch(work, A, WRITE_Y, Y)
    launch(work, B, WRITE_X, X)  # the first one of a stream has an event
    for _ in range(5):
        launch(work, B, use("more", (Tensor(9000), True)))
    launch(work, A, READ_X, X)
    assert device.waits == [(11, 12002)]
    launch(work, C, use("more", (Tensor(9000), False)))
    assert device.waits == [(11, 12002), (13, 12008)]


def test_streams_that_may_be_gone_have_an_event_for_each_launch() -> None:
    """Nothing is recorded on them later, by somebody else."""

    class Passing(Recorder):
        def stream(self, device: int, stream: Any) -> StreamId:
            return StreamId(device, stream.cuda_stream, blocking=False, lasting=False)

    device = Passing()
    work = InFlight(device)
    for _ in range(2):
        launch(work, A, WRITE_X, X)
        launch(work, B, WRITE_Y, Y)
    assert device.recorded == 4
    launch(work, C, READ_X, X)
    assert device.waits == [(13, 11)]
    assert device.recorded == 5
    work.synchronize()
    assert device.recorded == 5


def test_the_default_stream_of_a_thread_is_never_the_only_one(work: InFlight, device: Recorder) -> None:
    """Another thread's has the same handle."""
    launch(work, PER_THREAD, WRITE_X, X)
    launch(work, PER_THREAD, WRITE_X, X)
    assert work.journal.count == 0
    assert work.count == 2


def test_a_stream_lives_while_it_is_the_only_one() -> None:
    """Who drops a stream of CuPy destroys it, and an event is still to be recorded on it."""

    class Looks(Recorder):
        there: bool = False

        def record(self, stream: Any) -> Any:
            self.there = self.there or (stream.handle == 11 and gone() is not None)
            return super().record(stream)

    device = Looks()
    work = InFlight(device)
    stream = Stream(11)
    gone = weakref.ref(stream)
    launch(work, stream, WRITE_X, X)
    del stream
    launch(work, B, READ_X, X)
    assert device.there
    assert gone() is None
    assert device.waits == [(12, 11)]


def test_a_launch_that_fails_is_not_in_the_way(work: InFlight, device: Recorder) -> None:
    launch(work, A, WRITE_Y, Y)

    def fail(stream: Any) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        work.launch(B, WRITE_X, (X,), fail)
    device.finished |= {11, 12}
    launch(work, C, READ_X, X)
    assert device.waits == []


def test_a_coroutine_waits_for_a_stream(work: InFlight, device: Recorder) -> None:
    launch(work, A, WRITE_X, X)
    order: list[str] = []

    async def wait() -> None:
        await work.finished(A)
        order.append("finished")

    async def go_on() -> None:
        for _ in range(3):
            await asyncio.sleep(0.001)
        order.append("meanwhile")
        device.finished.add(11)

    async def both() -> None:
        await asyncio.gather(wait(), go_on())

    asyncio.run(both())
    assert order == ["meanwhile", "finished"]
    assert work.count == 0


def test_a_coroutine_hears_of_memory_that_moved(work: InFlight, device: Recorder) -> None:
    tensor = Tensor(1000)
    launch(work, A, WRITE_X, tensor)
    tensor.address = 5000
    device.finished.add(11)
    with pytest.raises(InFlightConflict, match="TV504"):
        asyncio.run(work.finished(A))


def test_handles_are_streams_too(work: InFlight, device: Recorder) -> None:
    launch(work, 11, WRITE_X, X)
    launch(work, A, READ_X, X)
    assert device.waits == []
    launch(work, 0, READ_X, X)
    assert device.waits == [(0, 11)]
