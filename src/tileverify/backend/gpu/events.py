"""Streams and events of the driver, as the ledger of work in flight asks for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..inflight import StreamId
from . import driver

_NON_BLOCKING = 1
"""``CU_STREAM_NON_BLOCKING``: not ordered with the legacy default stream."""


class CudaDevice:
    """All GPUs of this process.  Events are used again once they are done."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], StreamId] = {}
        self._idle: dict[int, list[Any]] = {}
        self._lock = threading.Lock()

    def stream(self, device: int, stream: Any) -> StreamId:
        handle = driver.stream_handle(stream)
        found = self._known.get((device, handle))
        if found is None:
            with _current(device):
                flags = int(driver.called(driver.bindings().cuStreamGetFlags(handle))) if handle else 0
            found = self._known[device, handle] = StreamId(device, handle, not flags & _NON_BLOCKING)
        return found

    def record(self, stream: StreamId) -> Any:
        bindings = driver.bindings()
        with _current(stream.device):
            with self._lock:
                idle = self._idle.setdefault(stream.device, [])
                event = idle.pop() if idle else None
            if event is None:
                event = driver.called(bindings.cuEventCreate(bindings.CUevent_flags.CU_EVENT_DISABLE_TIMING))
            driver.called(bindings.cuEventRecord(event, stream.handle))
        return stream.device, event

    def wait(self, stream: StreamId, event: Any) -> None:
        with _current(stream.device):
            driver.called(driver.bindings().cuStreamWaitEvent(stream.handle, event[1], 0))

    def done(self, event: Any) -> bool:
        bindings = driver.bindings()
        (status,) = bindings.cuEventQuery(event[1])
        if status == bindings.CUresult.CUDA_ERROR_NOT_READY:
            return False
        driver.called((status,))
        self._recycle(event)
        return True

    def synchronize(self, event: Any) -> None:
        driver.called(driver.bindings().cuEventSynchronize(event[1]))
        self._recycle(event)

    def _recycle(self, event: Any) -> None:
        with self._lock:
            self._idle.setdefault(event[0], []).append(event[1])


@contextmanager
def _current(device: int) -> Iterator[None]:
    """Within the device's own context, whatever the thread's was."""
    bindings = driver.bindings()
    driver.called(bindings.cuCtxPushCurrent(driver.primary_context(device)))
    try:
        yield
    finally:
        driver.called(bindings.cuCtxPopCurrent())
