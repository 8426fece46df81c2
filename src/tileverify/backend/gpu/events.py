"""Streams and events of the driver, as the ledger of work in flight asks for them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from ..ledger import LEGACY, StreamId
from . import driver

_NON_BLOCKING = 1
"""``CU_STREAM_NON_BLOCKING``: not ordered with the legacy default stream."""


class _Event:
    """An event of the driver, which goes back to the ``idle`` ones of its device when nobody needs it any more.

    A wait that was issued stands for what the event was then, so that it may be recorded again meanwhile.
    """

    __slots__ = ("_idle", "handle")

    def __init__(self, handle: Any, idle: list[Any]) -> None:
        self.handle = handle
        self._idle = idle

    def __del__(self) -> None:
        self._idle.append(self.handle)


class CudaDevice:
    """All GPUs of this process."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], StreamId] = {}
        self._idle: dict[int, list[Any]] = {}

    def stream(self, device: int, stream: Any) -> StreamId:
        handle = driver.stream_handle(stream)
        found = self._known.get((device, handle))
        if found is None:
            with driver.current(device):
                flags = int(driver.called(driver.bindings().cuStreamGetFlags(handle))) if handle else 0
            found = self._known[device, handle] = StreamId(device, handle, not flags & _NON_BLOCKING)
        return found

    def record(self, stream: StreamId) -> _Event:
        bindings = driver.bindings()
        idle = self._idle.setdefault(stream.device, [])
        # The legacy stream is that of the current context, every other one knows its own.
        with driver.current(stream.device) if stream.handle == LEGACY or not idle else nullcontext():
            try:
                handle = idle.pop()
            except IndexError:
                handle = driver.called(bindings.cuEventCreate(bindings.CUevent_flags.CU_EVENT_DISABLE_TIMING))
            event = _Event(handle, idle)
            driver.called(bindings.cuEventRecord(handle, stream.handle))
        return event

    def wait(self, stream: StreamId, event: _Event) -> None:
        with driver.current(stream.device):
            driver.called(driver.bindings().cuStreamWaitEvent(stream.handle, event.handle, 0))

    def done(self, event: _Event) -> bool:
        bindings = driver.bindings()
        (status,) = bindings.cuEventQuery(event.handle)
        if status == bindings.CUresult.CUDA_ERROR_NOT_READY:
            return False
        driver.called((status,))
        return True

    def synchronize(self, event: _Event) -> None:
        driver.called(driver.bindings().cuEventSynchronize(event.handle))
