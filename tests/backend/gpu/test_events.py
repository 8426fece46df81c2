"""Streams and events, on a driver that writes down what it is asked: whose stream a handle is, contexts, captures."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tileverify.backend.gpu import driver
from tileverify.backend.gpu.driver import CudaDevice, DriverFailure
from tileverify.backend.ledger import LEGACY, PER_THREAD
from tileverify.system.errors import UsageError

NO_CONTEXT = 201
NOT_READY = 600


class TorchStream:
    """As torch shows one of its own."""

    def __init__(self, cuda_stream: int) -> None:
        self.cuda_stream = cuda_stream


TorchStream.__module__, TorchStream.__name__ = "torch.cuda.streams", "Stream"


@dataclass
class Driver:
    """Each handle's serial number; whether the thread has a context; how often each call was made."""

    serials: dict[int, int] = field(default_factory=dict)
    non_blocking: set[int] = field(default_factory=set)
    captured: set[int] = field(default_factory=set)
    context: bool = True
    status: int = 0
    made: list[tuple[Any, ...]] = field(default_factory=list)
    pushed: int = 0

    def calls(self) -> driver._Calls:
        return driver._Calls(
            self.call("record"),
            self.call("wait"),
            lambda event: self.status,
            lambda event: self.status,
            self.telling(lambda stream: int(stream in self.non_blocking), ctypes.c_uint),
            self.telling(lambda stream: self.serials[stream], ctypes.c_uint64),
            self.telling(lambda stream: int(stream in self.captured), ctypes.c_int),
            self.push,
            self.pop,
        )

    def call(self, name: str) -> Callable[..., int]:
        def made(*arguments: int) -> int:
            if not self.context:
                return NO_CONTEXT
            self.made.append((name, *arguments))
            return self.status

        return made

    def telling(self, what: Callable[[int], int], kind: Any) -> Callable[[int, Any], int]:
        def told(stream: int, out: Any) -> int:
            ctypes.cast(out, ctypes.POINTER(kind))[0] = what(stream)
            return 0

        return told

    def push(self, context: int) -> int:
        self.context, self.pushed = True, self.pushed + 1
        return 0

    def pop(self, out: Any) -> int:
        return 0


@pytest.fixture
def imitated(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made, numbers = Driver(), iter(range(1000, 2000))
    monkeypatch.setattr(driver, "_calls", made.calls)
    monkeypatch.setattr(driver, "_context", lambda device: 7)
    monkeypatch.setattr(driver, "_new_event", lambda device: next(numbers))
    return made


def test_a_handle_that_comes_back_is_another_stream(imitated: Driver) -> None:
    """Whoever destroys a stream makes room for one at the same address."""
    device = CudaDevice()
    imitated.serials[50] = 3
    first = device.stream(0, 50)
    assert device.stream(0, 50) == first
    imitated.serials[50] = 4
    imitated.non_blocking.add(50)
    second = device.stream(0, 50)
    assert second != first
    assert (first.blocking, second.blocking) == (True, False)
    assert not first.lasting


def test_each_thread_has_a_default_stream_of_its_own(imitated: Driver) -> None:
    device = CudaDevice()
    imitated.serials[PER_THREAD] = 8  # of this thread
    one = device.stream(0, PER_THREAD)
    imitated.serials[PER_THREAD] = 9  # and of another one
    assert device.stream(0, PER_THREAD) != one
    assert not one.lasting


def test_streams_of_torch_last_and_are_asked_about_once(imitated: Driver) -> None:
    device = CudaDevice()
    imitated.serials[60] = 5
    imitated.non_blocking.add(60)
    stream = device.stream(0, TorchStream(60))
    imitated.serials.clear()
    assert stream.lasting
    assert not stream.blocking
    assert device.stream(0, TorchStream(60)) is stream
    assert device.stream(0, 60) is stream
    assert device.stream(0, None) == device.stream(0, TorchStream(LEGACY))


def test_an_external_stream_of_torch_does_not(imitated: Driver) -> None:
    class External(TorchStream):
        pass

    External.__module__, External.__name__ = "torch.cuda.streams", "ExternalStream"
    imitated.serials[61] = 6
    assert not CudaDevice().stream(0, External(61)).lasting


def test_events_are_used_again(imitated: Driver) -> None:
    device = CudaDevice()
    stream = device.stream(0, TorchStream(LEGACY))
    event = device.record(stream)
    handle = event.handle
    other = device.record(stream)
    assert other.handle != handle
    del event
    assert device.record(stream).handle == handle
    assert [each[0] for each in imitated.made] == ["record"] * 3


def test_a_context_is_asked_for_where_one_is_missing_and_for_default_streams(imitated: Driver) -> None:
    device = CudaDevice()
    imitated.serials[60] = 5
    stream, default = device.stream(0, TorchStream(60)), device.stream(0, None)
    event = device.record(stream)
    device.wait(stream, event)
    assert imitated.pushed == 0
    imitated.context = False
    device.wait(stream, event)
    assert imitated.pushed == 1
    device.wait(default, event)
    assert imitated.pushed == 2
    assert [each[:2] for each in imitated.made] == [("record", 1000), ("wait", 60), ("wait", 60), ("wait", LEGACY)]


def test_what_is_captured_is_not_ordered(imitated: Driver) -> None:
    device = CudaDevice()
    imitated.serials[60] = 5
    stream = device.stream(0, TorchStream(60))
    event = device.record(stream)
    imitated.captured.add(60)
    with pytest.raises(UsageError, match=r"being captured .* use tileverify.graph\(\)"):
        device.record(stream)
    assert len(imitated.made) == 1
    imitated.status = 900  # asking is not permitted meanwhile
    with pytest.raises(UsageError, match="being captured"):
        device.done(event)


def test_events_are_asked(imitated: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    device = CudaDevice()
    event = device.record(device.stream(0, None))
    assert device.done(event)
    imitated.status = NOT_READY
    assert not device.done(event)
    imitated.status = 700

    def failed(status: int) -> None:
        raise DriverFailure(f"{status}")

    monkeypatch.setattr("tileverify.backend.gpu.driver.succeeded", failed)
    with pytest.raises(DriverFailure, match="700"):
        device.done(event)
    with pytest.raises(DriverFailure, match="700"):
        device.synchronize(event)
