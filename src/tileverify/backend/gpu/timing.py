"""How long a launch takes on the GPU: events around it, behind a sweep of the L2 cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from . import driver
from .loaded import Plan
from .saved_memory import SavedDeviceMemory

SWEPT: Final = 256 << 20
"""Bytes that are written before every launch, several times any L2 cache."""


class CudaTimer:
    """Events of the driver."""

    def __init__(self) -> None:
        self._swept: dict[int, driver.DeviceMemory] = {}

    def provenance(self, device: int) -> Mapping[str, str]:
        bindings = driver.bindings()
        name = driver.called(bindings.cuDeviceGetName(100, driver.called(bindings.cuDeviceGet(device))))
        version = driver.called(bindings.cuDriverGetVersion())
        return {"device": name.split(b"\0")[0].decode(), "cuda": str(version)}

    def saved(self, device: int, ranges: Sequence[tuple[int, int]], stream: object) -> SavedDeviceMemory:
        return SavedDeviceMemory(device, ranges, stream)

    def microseconds(self, plan: Plan, stream: object) -> float:
        bindings, handle, device = driver.bindings(), driver.stream_handle(stream), plan.kernel.device
        driver.called(bindings.cuCtxPushCurrent(driver.primary_context(device)))
        try:
            if device not in self._swept:
                self._swept[device] = driver.DeviceMemory(device, bytes(SWEPT))
            start, end = (driver.called(bindings.cuEventCreate(bindings.CUevent_flags.CU_EVENT_DEFAULT)) for _ in "se")
            try:
                driver.called(bindings.cuMemsetD8Async(self._swept[device].address, 0, SWEPT, handle))
                driver.called(bindings.cuEventRecord(start, handle))
                plan.launch(stream)
                driver.called(bindings.cuEventRecord(end, handle))
                driver.called(bindings.cuEventSynchronize(end))
                return 1000 * float(driver.called(bindings.cuEventElapsedTime(start, end)))
            finally:
                for event in (start, end):
                    bindings.cuEventDestroy(event)
        finally:
            driver.called(bindings.cuCtxPopCurrent())
