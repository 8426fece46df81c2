"""What launches ask of torch and of a GPU: tensors, streams, plans, and a device that finishes nothing by itself."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tileverify.backend.gpu.driver import DriverFailure
from tileverify.backend.ledger import StreamId
from tileverify.launching import launch_cache as tensors


@dataclass(eq=False)
class Tensor:
    """What is asked of a tensor of torch."""

    address: int = 4096
    shape: tuple[int, ...] = (8, 4)
    strides: tuple[int, ...] = (4, 1)
    dtype: str = "float32"

    @property
    def device(self) -> SimpleNamespace:
        return SimpleNamespace(type="cuda")

    def data_ptr(self) -> int:
        return self.address

    def stride(self) -> tuple[int, ...]:
        return self.strides


class Guards:
    """``torch._C._dynamo.guards.TensorGuards``"""

    def __init__(self, *tensors: Tensor, dynamic_dims_sizes: None, dynamic_dims_strides: None) -> None:
        self._seen = [(each.shape, each.strides, each.dtype) for each in tensors]

    def check(self, *tensors: Tensor) -> bool:
        if not all(isinstance(each, Tensor) for each in tensors):
            raise TypeError("expected a tensor")
        return [(each.shape, each.strides, each.dtype) for each in tensors] == self._seen


@dataclass
class Stream:
    cuda_stream: int


@dataclass
class Device:
    """Nothing finishes by itself: an event is the stream that it was recorded on."""

    waits: list[tuple[int, int]] = field(default_factory=list)
    finished: set[int] = field(default_factory=set)
    recorded: int = 0

    def stream(self, device: int, stream: Any) -> StreamId:
        return StreamId(device, getattr(stream, "cuda_stream", stream), blocking=False)

    def record(self, stream: StreamId) -> Any:
        self.recorded += 1
        return stream.handle

    def wait(self, stream: StreamId, event: Any) -> None:
        self.waits.append((stream.handle, event))

    def done(self, event: Any) -> bool:
        return event in self.finished

    def synchronize(self, event: Any) -> None:
        self.finished.add(event)


@dataclass
class Plan:
    """Writes down on which stream it was made.  ``status`` 201: the thread has no context until it is given one."""

    made: list[int] = field(default_factory=list)
    status: int = 0
    alive: tuple[Any, ...] = ()

    def launch(self, stream: Any) -> None:
        call = self.bound(getattr(stream, "cuda_stream", stream))
        if call():
            self.retry(self.status, call)

    def bound(self, handle: int) -> Callable[[], int]:
        def go() -> int:
            self.made += [] if self.status else [handle]
            return self.status

        return go

    def retry(self, status: int, call: Callable[[], int]) -> None:
        if status != 201:
            raise DriverFailure(f"error {status}")
        self.status = 0
        call()


def imitate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install it for one test."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    monkeypatch.setattr(tensors, "_guards", lambda: Guards)


def alive(reference: weakref.ref[Any]) -> bool:
    """Whether anybody holds what it refers to."""
    gc.collect()
    return reference() is not None
