"""The few calls of the CUDA driver API that launching a tile kernel takes, by ctypes: no package needs to be there.

A launch's grid counts tile blocks and its block size is (1, 1, 1): the cubin itself says how many threads run a tile
block (`tileiras` writes `.reqntid`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Grid = Sequence[int]


class DriverError(Exception):
    """A call of the driver failed; the text names the call and the driver's own name for the error."""


class Driver:
    """The first device, and a context on it that belongs to this process."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DriverError(f"there is no CUDA driver here: {error}") from error
        self._call("cuInit", 0)
        self.device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(self.device), 0)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self._call("cuCtxSetCurrent", context)

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(status, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'?').decode()} ({status})")

    def describe(self) -> dict[str, str]:
        """Device, compute capability, CUDA version of the driver, and the driver's own version where NVML tells it."""
        name, number = ctypes.create_string_buffer(100), ctypes.c_int()
        self._call("cuDeviceGetName", name, 100, self.device)
        capability = []
        for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
            self._call("cuDeviceGetAttribute", ctypes.byref(number), attribute, self.device)
            capability.append(str(number.value))
        self._call("cuDriverGetVersion", ctypes.byref(number))
        cuda = f"{number.value // 1000}.{number.value % 1000 // 10}"
        return {
            "device": name.value.decode(),
            "compute capability": ".".join(capability),
            "driver": _driver_version(),
            "CUDA of the driver": cuda,
        }

    def upload(self, data: bytes) -> int:
        """The address of a new allocation that holds ``data``."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(data)))
        self._call("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
        return address.value

    def download(self, address: int, size: int) -> Array:
        """``size`` bytes as uint8."""
        data = np.empty(size, np.uint8)
        self._call(
            "cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(address), ctypes.c_size_t(size)
        )
        return data

    def free(self, address: int) -> None:
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def load(self, cubin: bytes, symbol: str) -> tuple[int, int]:
        """Module and function."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), cubin)
        self._call("cuModuleGetFunction", ctypes.byref(function), module, symbol.encode())
        return module.value or 0, function.value or 0

    def unload(self, module: int) -> None:
        self._call("cuModuleUnload", ctypes.c_void_p(module))

    def launch(self, function: int, grid: Grid, parameters: Sequence[bytes]) -> None:
        """Run to the end.  Each parameter is its bytes in memory."""
        buffers = [ctypes.create_string_buffer(each, len(each)) for each in parameters]
        pointers = (ctypes.c_void_p * len(buffers))(*(ctypes.addressof(buffer) for buffer in buffers))
        self._call("cuLaunchKernel", ctypes.c_void_p(function), *grid, 1, 1, 1, 0, None, pointers, None)
        self._call("cuCtxSynchronize")


def _driver_version() -> str:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return "unknown"
    text = ctypes.create_string_buffer(100)
    known = library.nvmlInit_v2() == 0 and library.nvmlSystemGetDriverVersion(text, 100) == 0
    return text.value.decode() if known else "unknown"
