"""``cuda.bindings.runtime`` on a machine without a GPU: one device, events that lie a millisecond apart, memory of the
host.

A function that has no stand-in says so when it is called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import ModuleType
from typing import SupportsInt

from .cuda_core_stand_ins import Imitated
from .driver_calls import Answer
from .driver_stand_ins import MILLISECONDS, address_of, missing
from .no_driver import DRIVER_VERSION, NoDriver
from .pointer_owners import PointerOwners, host_memory

MEMORY_BYTES = 180 << 30
_STREAM = 0x2000
_EVENT = 0x3000


class RuntimeStandIns:
    """``owners``: who keeps memory that is allocated; ``device``: the one that is imitated."""

    def __init__(self, runtime: ModuleType, owners: PointerOwners, device: Imitated) -> None:
        self._runtime = runtime
        self._owners = owners
        self._device = device
        self._attributes = NoDriver(device.capability, device.multiprocessors)
        self._success = runtime.cudaError_t.cudaSuccess

    def install(self) -> None:
        """Every function of the module gets a stand-in, or one that tells that it has none."""
        known = self._answers()
        for name, value in list(vars(self._runtime).items()):
            if name.startswith("cuda") and name[4:5].isupper() and callable(value) and not isinstance(value, type):
                setattr(self._runtime, name, known.get(name) or missing(name, "cuda.bindings.runtime"))

    def _answers(self) -> dict[str, Callable[..., Answer]]:
        runtime = self._runtime
        nothing = (
            "cudaSetDevice cudaInitDevice cudaDeviceSynchronize cudaDeviceReset cudaSetDeviceFlags cudaStreamDestroy "
            "cudaStreamSynchronize cudaStreamQuery cudaStreamWaitEvent cudaEventRecord cudaEventRecordWithFlags "
            "cudaEventSynchronize cudaEventQuery cudaEventDestroy cudaGetLastError cudaPeekAtLastError "
            "cudaProfilerStart cudaProfilerStop cudaMemPrefetchAsync cudaMemAdvise cudaHostRegister cudaHostUnregister "
            "cudaFuncSetAttribute cudaKernelSetAttributeForDevice"
        )
        return {
            **{name: self._always() for name in nothing.split()},
            "cudaDriverGetVersion": self._always(DRIVER_VERSION),
            "cudaRuntimeGetVersion": self._always(DRIVER_VERSION),
            "cudaGetDevice": self._always(0),
            "cudaGetDeviceCount": self._always(1),
            "cudaGetDeviceProperties": self._properties,
            "cudaDeviceGetAttribute": lambda number, device=0: (
                self._success, self._attributes.attribute(int(number))
            ),
            "cudaDeviceGetStreamPriorityRange": self._always(0, 0),
            "cudaMemGetInfo": self._always(MEMORY_BYTES, MEMORY_BYTES),
            "cudaStreamIsCapturing": lambda stream: (
                self._success, runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone
            ),
            "cudaGetErrorName": self._always(b"cudaSuccess"),
            "cudaGetErrorString": self._always(b"no error"),
            **dict.fromkeys(
                ("cudaStreamCreate", "cudaStreamCreateWithFlags", "cudaStreamCreateWithPriority"),
                lambda *flags: (self._success, runtime.cudaStream_t(_STREAM)),
            ),
            **dict.fromkeys(
                ("cudaEventCreate", "cudaEventCreateWithFlags"),
                lambda *flags: (self._success, runtime.cudaEvent_t(_EVENT)),
            ),
            "cudaEventElapsedTime": self._always(MILLISECONDS),
            **dict.fromkeys(
                ("cudaMalloc", "cudaMallocAsync", "cudaMallocManaged", "cudaMallocHost", "cudaHostAlloc"),
                self._allocate,
            ),
            **dict.fromkeys(("cudaFree", "cudaFreeAsync", "cudaFreeHost"), self._free),
            **dict.fromkeys(("cudaMemcpy", "cudaMemcpyAsync"), self._copy),
            **dict.fromkeys(("cudaMemset", "cudaMemsetAsync"), self._fill),
        }  # fmt: skip

    def _always(self, *values: object) -> Callable[..., Answer]:
        return lambda *arguments, **named: (self._success, *values)

    def _properties(self, device: SupportsInt) -> Answer:
        found = self._runtime.cudaDeviceProp()
        found.name = self._device.name.encode()
        found.major, found.minor = self._device.capability
        found.multiProcessorCount = self._device.multiprocessors
        found.totalGlobalMem = MEMORY_BYTES
        found.warpSize = 32
        return self._success, found

    def _allocate(self, size: int, *rest: object) -> Answer:
        address, keeper = host_memory(int(size))
        self._owners.note_allocated(address, int(size), keeper)
        return self._success, address

    def _free(self, address: SupportsInt, *rest: object) -> Answer:
        self._owners.note_freed(int(address))
        return (self._success,)

    def _copy(self, target: SupportsInt, source: SupportsInt, size: int, *rest: object) -> Answer:
        ctypes.memmove(address_of(target), address_of(source), int(size))
        return (self._success,)

    def _fill(self, target: SupportsInt, value: int, size: int, *stream: object) -> Answer:
        ctypes.memset(address_of(target), int(value), int(size))
        return (self._success,)
