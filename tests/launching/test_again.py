"""Launches that are made again without a word: what tells them apart, what they hold, and when they give way."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from itertools import repeat
from typing import Any

import pytest
from tests.launching.imitation import Device, Plan, Stream, Tensor, alive, imitate

from tileverify.backend.gpu.driver import DriverFailure
from tileverify.backend.ledger import ByteAccess, InFlightConflict
from tileverify.launching import launch_cache
from tileverify.launching.in_flight import InFlight
from tileverify.launching.launch_cache import Planned, Remembered
from tileverify.launching.launch_log import POLLED_EVERY, Use

GRID = (8,)


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    imitate(monkeypatch)


A, B, C = Stream(11), Stream(12), Stream(13)


@pytest.fixture
def device() -> Device:
    return Device()


@pytest.fixture
def work(device: Device) -> InFlight:
    return InFlight(device)


@pytest.fixture
def kernel(work: InFlight) -> Remembered:
    return Remembered(work)


class Uninterrupted(Plan):
    """No other thread runs while a launch is made, as it is with the driver's call: all of it is C code."""

    def bound(self, handle: int) -> Callable[[], int]:
        return partial(next, map(bool, map(self.made.append, repeat(handle))))


def first(kernel: Remembered, stream: Any, *arguments: Any, grid: Any = GRID, plan: Plan | None = None) -> Plan:
    """The first launch with these arguments; the last one is written."""
    plan = plan or Plan()
    arrays = [each for each in arguments if isinstance(each, Tensor)]
    spans = tuple(ByteAccess(e.address, e.address + 128, e is arrays[-1], f"a{n}") for n, e in enumerate(arrays))
    kernel.first(stream, grid, arguments, Planned(plan, Use("kernel", 0, spans), True))  # type: ignore[arg-type]
    return plan


def test_an_equal_launch_is_made_at_once(kernel: Remembered, work: InFlight) -> None:
    x, y = Tensor(), Tensor(8192)
    assert not kernel.again(A, GRID, (x, y, 2.0, 3))
    plan = first(kernel, A, x, y, 2.0, 3)
    assert kernel.again(A, GRID, (x, y, 2.0, 3))
    assert kernel.again(A, GRID, [Tensor(), Tensor(8192), 2.0, 3])
    assert plan.made == [11, 11, 11]
    assert work.count == 3


@pytest.mark.parametrize(
    "change", [{"shape": (4, 8)}, {"strides": (8, 1)}, {"dtype": "int32"}, {"address": 5000}], ids=str
)
def test_the_same_tensor_changed_in_place_is_another(kernel: Remembered, change: dict[str, Any]) -> None:
    x, y = Tensor(), Tensor(8192)
    plan = first(kernel, A, x, y)
    for name, value in change.items():
        setattr(y, name, value)
    assert not kernel.again(A, GRID, (x, y))
    assert not kernel.launch(A, GRID, (x, y))
    assert plan.made == [11]


@pytest.mark.parametrize(
    "arguments",
    [(), (Tensor(),), (Tensor(), Tensor(8192), 2.0), (Tensor(), 3, 2.0, 3), (Tensor(), Tensor(8192), -2.0, 3),
     (Tensor(), Tensor(8192), 2, 3), (Tensor(), Tensor(8192), 2.0, True), (object(), Tensor(8192), 2.0, 3)],
)  # fmt: skip
def test_other_arguments_are_another_launch(kernel: Remembered, arguments: tuple[Any, ...]) -> None:
    plan = first(kernel, A, Tensor(), Tensor(8192), 2.0, 3)
    assert not kernel.again(A, GRID, arguments)
    assert not kernel.again(A, (9,), (Tensor(), Tensor(8192), 2.0, 3))
    assert not kernel.again(A, [8], (Tensor(), Tensor(8192), 2.0, 3))
    assert plan.made == [11]


def test_shapes_at_one_address_take_turns(kernel: Remembered) -> None:
    """An allocator gives one address to arrays of many sizes."""
    small, large = Tensor(shape=(8,), strides=(1,)), Tensor(shape=(16,), strides=(1,))
    plans = [first(kernel, A, each) for each in (small, large)]
    for _ in range(2):
        for each in (small, large):
            assert kernel.again(A, GRID, (each,)) or kernel.launch(A, GRID, (each,))
    assert [plan.made for plan in plans] == [[11] * 3] * 2
    assert kernel.again(A, GRID, (large,))


def test_where_torch_does_not_tell_everything_is_read(kernel: Remembered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileverify.launching.launch_cache._guards", lambda: None)
    x = Tensor()
    plan = first(kernel, A, x)
    assert not kernel.again(A, GRID, (x,))
    assert kernel.launch(A, GRID, (x,))
    assert plan.made == [11, 11]


def test_another_stream_waits_for_a_launch_at_once(kernel: Remembered, work: InFlight, device: Device) -> None:
    x = Tensor()
    plan = first(kernel, A, x)
    assert kernel.again(B, GRID, (x,))
    assert device.waits == [(12, 11)]
    assert kernel.again(A, GRID, (x,))
    assert device.waits == [(12, 11), (11, 12)]
    assert kernel.again(A, GRID, (x,))
    assert kernel.launch(B, GRID, (x,))
    assert device.waits == [(12, 11), (11, 12), (12, 11)]
    assert work.count == 5
    work.synchronize()
    device.finished.clear()
    assert not kernel.again(A, GRID, (x,)), "no stream is known to be alone"
    assert kernel.launch(B, GRID, (x,))
    assert kernel.again(B, GRID, (x,))
    assert len(device.waits) == 3
    assert kernel.again(A, GRID, (x,))
    assert device.waits[3:] == [(11, 12)]
    assert plan.made == [11, 12, 11, 11, 12, 12, 12, 11]


def test_a_launch_at_once_beside_others_is_refused_in_strict_mode(kernel: Remembered, work: InFlight) -> None:
    x = Tensor()
    plan = first(kernel, A, x)
    work.strict = True
    with pytest.raises(InFlightConflict, match="TV504"):
        kernel.again(B, GRID, (x,))
    assert plan.made == [11]


def test_arrays_of_launches_beside_others_live_until_the_work_is_done(kernel: Remembered, work: InFlight) -> None:
    first(kernel, A, Tensor())
    later = Tensor()
    gone = weakref.ref(later)
    assert kernel.again(B, GRID, (later,))
    del later
    assert alive(gone)
    work.synchronize()
    assert not alive(gone)


def test_another_device_is_another_place(work: InFlight, device: Device) -> None:
    """Streams of two devices have the same handle, the default one."""
    near, far = Remembered(work), Remembered(work)
    x, y = Tensor(), Tensor(8192)
    first(near, Stream(0), x)
    plan = Plan()
    use = Use("far", 1, (ByteAccess(8192, 8320, True, "y"),))
    far.first(Stream(0), GRID, (y,), Planned(plan, use, True))  # type: ignore[arg-type]
    work.launch(Stream(0), Use("reader", 1, (ByteAccess(4096, 4100, False, "x"),)), (x,), lambda stream: None)
    assert device.waits == [(0, 0)], "the launch on the other device was waited for"
    assert far.again(Stream(0), GRID, (y,))
    assert near.again(Stream(0), GRID, (x,))
    assert device.waits == [(0, 0), (0, 0)], "and this one waited for the reader"


def test_handles_that_are_no_streams_of_torch_are_asked_again(kernel: Remembered) -> None:
    x = Tensor()
    plan = first(kernel, 11, x)
    assert not kernel.again(11, GRID, (x,))
    assert kernel.launch(11, GRID, (x,))
    assert plan.made == [11, 11]


class Lasting:
    """A stream whose handle cannot change, as torch's cannot."""

    cuda_stream = 11


Lasting.__module__ = "torch.cuda.streams"


def test_one_stream_object_is_known_again_and_no_stream_is_another(kernel: Remembered, device: Device) -> None:
    x, stream = Tensor(), Lasting()
    plan = first(kernel, stream, x)
    for same in (stream, stream, Lasting(), A):
        assert kernel.again(same, GRID, (x,))
    for other in (None, 0, object()):
        assert not kernel.again(other, GRID, (x,))
    assert plan.made == [11] * 5
    assert kernel.again(B, GRID, (x,))
    assert plan.made == [11] * 5 + [12]
    assert device.waits == [(12, 11)]


def test_a_stream_object_that_changes_is_seen(kernel: Remembered, device: Device) -> None:
    x, stream = Tensor(), Stream(11)
    plan = first(kernel, stream, x)
    assert kernel.again(stream, GRID, (x,))
    stream.cuda_stream = 12
    assert kernel.again(stream, GRID, (x,))
    assert plan.made == [11, 11, 12]
    assert device.waits == [(12, 11)]


def test_without_a_global_lock_threads_take_turns(work: InFlight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_cache, "ALONE_BETWEEN_CALLS", False)
    kernel, x = Remembered(work), Tensor()
    plan = first(kernel, A, x)
    assert kernel.again(A, GRID, (x,))
    entered = threading.Event()
    with work.lock:

        def again() -> None:
            entered.set()
            kernel.again(A, GRID, (x,))

        thread = threading.Thread(target=again)
        thread.start()
        entered.wait()
        thread.join(0.05)
        assert plan.made == [11, 11], "the lock is not asked for"
    thread.join()
    assert plan.made == [11, 11, 11]


def test_arrays_live_until_the_work_is_done(kernel: Remembered, work: InFlight) -> None:
    first(kernel, A, Tensor())
    later = Tensor()
    gone = weakref.ref(later)
    given = [later]
    assert kernel.again(A, GRID, given)
    given.clear()
    del later
    assert alive(gone)
    work.synchronize()
    assert not alive(gone)


def test_every_array_of_a_batch_lives(kernel: Remembered, work: InFlight) -> None:
    """Arrays of one launch after another, at one address."""
    first(kernel, A, Tensor())
    arrays = [Tensor() for _ in range(3)]
    gone = [weakref.ref(each) for each in arrays]
    for each in arrays:
        assert kernel.again(A, GRID, (each,))
    del arrays, each
    gc.collect()
    assert all(each() is not None for each in gone)
    work.synchronize()
    gc.collect()
    assert all(each() is None for each in gone)


def test_arrays_of_a_batch_go_with_it(kernel: Remembered, work: InFlight, device: Device) -> None:
    kept, temporary = Tensor(), Tensor()
    first(kernel, A, kept)
    gone = weakref.ref(temporary)
    assert kernel.again(A, GRID, (temporary,))
    del temporary
    device.finished.add(11)
    for _ in range(POLLED_EVERY):
        assert kernel.again(A, GRID, (kept,))
    assert not alive(gone)
    assert work.count == 2
    assert device.recorded == 1


def test_every_array_of_launches_beside_others_lives(kernel: Remembered, work: InFlight, device: Device) -> None:
    """The same launch needs no word while nobody waits for it; other arrays at the same address do."""
    other = Tensor(1 << 20)
    work.launch(A, Use("other", 0, (ByteAccess(1 << 20, (1 << 20) + 9, True, "y"),)), (other,), lambda stream: None)
    plan = first(kernel, B, Tensor())
    arrays = [Tensor() for _ in range(3)]
    gone = [weakref.ref(each) for each in arrays]
    for each in [arrays[0]] * 20 + arrays:
        assert kernel.again(B, GRID, (each,))
    assert work.count == 25
    assert len(plan.made) == 24
    assert device.recorded == 2
    del arrays, each
    gc.collect()
    assert all(each() is not None for each in gone)
    work.launch(C, Use("reader", 0, (ByteAccess(4096, 4100, False, "x"),)), (Tensor(),), lambda stream: None)
    assert device.waits == [(13, 12)]
    work.synchronize()
    gc.collect()
    assert all(each() is None for each in gone)
    assert work.count == 0


def test_arrays_go_sooner_where_they_are_large(kernel: Remembered, work: InFlight, device: Device) -> None:
    first(kernel, A, Tensor())
    temporary = Tensor()
    gone = weakref.ref(temporary)
    assert kernel.again(A, GRID, (temporary,))
    del temporary
    device.finished.add(11)
    work.journal.room = 0  # as after launches that touched much
    assert kernel.again(A, GRID, (Tensor(),))
    assert not alive(gone)
    assert work.count == 1


def test_the_same_arrays_are_noted_again_in_the_next_batch(kernel: Remembered, work: InFlight, device: Device) -> None:
    """The event of a batch stands for no launch behind it."""
    tensor = Tensor()
    gone = weakref.ref(tensor)
    first(kernel, A, tensor)
    device.finished.add(11)
    for _ in range(POLLED_EVERY):
        assert kernel.again(A, GRID, (tensor,))
    device.finished.clear()
    del tensor
    assert alive(gone)
    assert work.count == 1
    work.synchronize()
    assert not alive(gone)


def test_another_stream_waits_for_what_was_made_again(kernel: Remembered, work: InFlight, device: Device) -> None:
    x = Tensor()
    first(kernel, A, x)
    work.synchronize()
    device.finished.clear()
    assert kernel.launch(A, GRID, (x,))
    assert kernel.again(A, GRID, (x,))
    work.launch(B, Use("reader", 0, (ByteAccess(4096, 4100, False, "x"),)), (x,), lambda stream: None)
    assert device.waits == [(12, 11)]


def test_memory_that_moved_under_a_repeated_launch_is_found(kernel: Remembered, work: InFlight) -> None:
    x, other = Tensor(), Tensor()
    first(kernel, A, other)
    assert kernel.again(A, GRID, (x,))
    x.address = 9000
    with pytest.raises(InFlightConflict, match=r"the memory of `a0` was moved or freed while 'kernel' .*TV504"):
        work.synchronize()


def test_a_launch_that_fails_is_not_noted(kernel: Remembered, work: InFlight) -> None:
    x = Tensor()
    plan = first(kernel, A, x)
    plan.status = 719
    with pytest.raises(DriverFailure, match="719"):
        kernel.again(A, GRID, (x,))
    assert work.count == 1
    plan.status = 0
    assert kernel.again(A, GRID, (x,))


@pytest.mark.parametrize("seen_before", [False, True])
def test_a_launch_of_a_thread_without_a_context_is_made_and_noted(
    kernel: Remembered, work: InFlight, seen_before: bool
) -> None:
    """torch computes gradients in a thread of its own."""
    x, other = Tensor(), Tensor()
    plan = first(kernel, A, other)
    if seen_before:
        assert kernel.again(A, GRID, (x,))
    before = work.count
    plan.status = 201
    assert kernel.again(A, GRID, (x,))
    assert plan.made == [11] * (2 + seen_before)
    assert work.count == before + 1
    x.address = 9000
    with pytest.raises(InFlightConflict, match="the memory of `a0` was moved or freed"):  # so it is noted
        work.synchronize()


def test_two_threads_on_two_streams(kernel: Remembered, work: InFlight, device: Device) -> None:
    """Whoever comes second waits for the first one: no launch on one stream is between the look and the launch."""
    x, plan = Tensor(), Uninterrupted()
    first(kernel, A, x, plan=plan)
    failures: list[BaseException] = []

    def run(stream: Stream) -> None:
        try:
            for _ in range(300):
                assert kernel.again(stream, GRID, (x,)) or kernel.launch(stream, GRID, (x,))
        except BaseException as error:
            failures.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=run, args=(stream,)) for stream in (A, B)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before)
    assert not failures
    turns = sum(one != other for one, other in zip(plan.made, plan.made[1:], strict=False))
    assert len(plan.made) == 601
    assert len(device.waits) == turns


@pytest.mark.parametrize("stream", [A, B])
def test_nobody_launches_between_a_look_at_contents_and_the_launch(work: InFlight, stream: Stream) -> None:
    """What the proof assumes is looked at, and holds until the launch is on its stream, also against launches without
    a word."""
    x, y = Tensor(), Tensor(8192)
    writer = Remembered(work)
    written = first(writer, stream, x, y)
    assert writer.again(stream, GRID, (x, y))
    other = threading.Thread(target=writer.again, args=(stream, GRID, (x, y)))
    before: list[int] = []

    class Reader(Plan):
        def launch(self, stream: Any) -> None:
            before.append(len(written.made))
            super().launch(stream)

    def look() -> None:
        other.start()
        other.join(0.2)
        assert other.is_alive()

    use = Use("reader", 0, (ByteAccess(8192, 8320, False, "y"),))
    reader = Remembered(work)
    reader.first(A, GRID, (y,), Planned(Reader(), use, False, look=look))  # type: ignore[arg-type]
    other.join(30)
    assert before == [2]
    assert len(written.made) == 3
