"""The published use-after-free and race cases of cuTile Rust, as programs of this tool would meet them.

Numbers are those of NVlabs/cutile-rs: issues and pull requests on futures that were dropped (#179, #242) or forgotten
(#272), memory freed on another stream (#252), graphs that outlive their buffers or race for them (#270).
"""

from __future__ import annotations

import asyncio
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from tests.launching.imitation import Device, Plan, Stream, Tensor, alive, imitate

from tileverify.backend.ledger import ByteAccess, InFlightConflict
from tileverify.launching.graphs import Graph
from tileverify.launching.in_flight import InFlight
from tileverify.launching.launch_cache import Planned, Remembered
from tileverify.launching.launch_log import Use

A, B = Stream(11), Stream(12)


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    imitate(monkeypatch)


@pytest.fixture
def device() -> Device:
    return Device()


@pytest.fixture
def work(device: Device) -> InFlight:
    return InFlight(device)


def use(tensor: Tensor, *, write: bool = True) -> Use:
    return Use("kernel", 0, (ByteAccess(tensor.address, tensor.address + 128, write, "x"),))


def launch(work: InFlight, stream: Stream, tensor: Tensor, *, write: bool = True) -> None:
    work.launch(stream, use(tensor, write=write), (tensor,), lambda stream: None)


def test_a_future_dropped_while_the_kernel_writes(work: InFlight, device: Device) -> None:
    """#179, #242: dropping a future that had been polled freed the tensor."""
    tensor = Tensor()
    gone = weakref.ref(tensor)
    launch(work, A, tensor)
    del tensor

    async def drop() -> None:
        waiting = asyncio.ensure_future(work.finished(A))
        await asyncio.sleep(0.001)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(drop())
    assert alive(gone)
    device.finished.add(11)
    asyncio.run(work.finished(A))
    assert not alive(gone)


@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_a_handle_that_is_forgotten(work: InFlight, device: Device, again: bool) -> None:
    """#272: ``mem::forget`` of a handle skipped the wait.  A launch gives no handle here, and owns what it uses."""
    kernel, tensor = Remembered(work), Tensor()
    kernel.first(A, (1,), (tensor,), Planned(Plan(), use(tensor), True))  # type: ignore[arg-type]
    if again:
        tensor = Tensor()
        assert kernel.again(A, (1,), (tensor,))
    gone = weakref.ref(tensor)
    del tensor
    assert alive(gone)
    launch(work, B, Tensor(), write=False)
    assert device.waits == [(12, 11)], "the next launch on this memory waits for the forgotten one"
    assert alive(gone)
    work.synchronize()
    assert not alive(gone)


def test_memory_freed_on_another_stream(work: InFlight, device: Device) -> None:
    """#252: the free was queued on a stream that did not wait for the kernel."""
    tensor = Tensor()
    gone = weakref.ref(tensor)
    launch(work, A, tensor)
    del tensor
    device.finished.add(12)
    for _ in range(3):
        launch(work, B, Tensor(8192))
    assert alive(gone), "what another stream has finished says nothing"
    device.finished.add(11)
    launch(work, B, Tensor(8192))
    assert not alive(gone)


class Replays:
    """A graph of the driver."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def __call__(self, device: int) -> Replays:
        return self

    def add(self, plan: Any, after: Any, *, early: bool = False) -> None:
        pass

    def finish(self) -> None:
        pass

    def change(self, handle: Any, plan: Any) -> None:
        raise AssertionError

    def replay(self, stream: Any) -> None:
        self.made.append(stream)


def captured(work: InFlight, tensor: Tensor) -> Graph:
    plan: Any = SimpleNamespace(alive=(), kernel=None)
    graph = Graph(lambda *call, **options: Planned(plan, use(tensor), True), Replays(), work)
    with graph:
        graph.launch((1,), None, (tensor,))
    return graph


def test_a_graph_that_outlives_its_buffers(work: InFlight) -> None:
    """#270: drop, then replay, was a use after free."""
    tensor = Tensor()
    gone = weakref.ref(tensor)
    graph = captured(work, tensor)
    del tensor
    graph.replay(A)
    assert alive(gone)
    graph.replay(A)
    del graph
    assert alive(gone), "a replay is in flight"
    work.synchronize()
    assert not alive(gone)


@pytest.mark.parametrize("strict", [False, True])
def test_a_concurrent_write_to_a_captured_buffer(work: InFlight, device: Device, strict: bool) -> None:
    """#270: another stream wrote what a replay read."""
    work.strict = strict
    tensor = Tensor()
    captured(work, tensor).replay(A)
    if strict:
        with pytest.raises(InFlightConflict, match="TV504"):
            launch(work, B, tensor)
    else:
        launch(work, B, tensor)
    assert device.waits == ([] if strict else [(12, 11)])


def test_a_second_stream_that_reads_before_the_producer_ends(work: InFlight, device: Device) -> None:
    """``SharedDeviceOp`` checks, then acts, and has no event."""
    tensor = Tensor()
    launch(work, A, tensor)
    launch(work, B, tensor, write=False)
    assert device.waits == [(12, 11)]
