"""Small pieces of device memory that are zeroed, used and read on a stream, one user at a time."""

from __future__ import annotations

import numpy as np

from . import driver


class ScratchArray:
    """Numbers of 4 bytes in the memory of a device, as an array that kernels take."""

    def __init__(self, device: int, count: int) -> None:
        self._memory = driver.DeviceMemory(device, bytes(4 * count))
        self.device, self.count = device, count

    @property
    def address(self) -> int:
        return self._memory.address

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {"shape": (self.count,), "typestr": "<i4", "data": (self.address, False), "version": 3}


class DeviceScratch:
    """Arrays by what they are for; one that is long enough for nothing else is made anew."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[int, str], ScratchArray] = {}

    def zeros(self, stream: object, near: int, what: str, count: int) -> ScratchArray:
        """``count`` zeros of 4 bytes, on ``stream``, on the device that the address ``near`` lies on."""
        bindings, device = driver.bindings(), driver.device_of(near)
        found = self._arrays.get((device, what))
        if found is None or found.count != count:
            found = self._arrays[device, what] = ScratchArray(device, count)
        driver.called(bindings.cuCtxPushCurrent(driver.primary_context(device)))
        try:
            driver.called(bindings.cuMemsetD8Async(found.address, 0, 4 * count, driver.stream_handle(stream)))
        finally:
            driver.called(bindings.cuCtxPopCurrent())
        return found

    def number(self, stream: object, near: int, what: str) -> int:
        """The first element, once ``stream`` has come so far."""
        bindings, device = driver.bindings(), driver.device_of(near)
        data = np.full(1, -1, np.int32)
        driver.called(bindings.cuCtxPushCurrent(driver.primary_context(device)))
        try:
            handle = driver.stream_handle(stream)
            driver.called(bindings.cuMemcpyDtoHAsync(data.ctypes.data, self._arrays[device, what].address, 4, handle))
            driver.called(bindings.cuStreamSynchronize(handle))
        finally:
            driver.called(bindings.cuCtxPopCurrent())
        return int(data[0])
