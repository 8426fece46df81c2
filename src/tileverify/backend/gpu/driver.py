"""The calls of the CUDA driver that loading and launching a cubin take, through cuda-python.

A launch's grid counts tile blocks and its block size is (1, 1, 1): the cubin itself says how many threads run a tile
block (``tileiras`` writes ``.reqntid``).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, Final, SupportsInt

import numpy as np
from numpy.typing import NDArray

from ...system.errors import TileVerifyError, UsageError


class DriverFailure(TileVerifyError):
    """A call of the driver failed."""


@cache
def bindings() -> Any:
    """``cuda.bindings.driver``, initialised; raises `UsageError` where there is no cuda-python or no driver."""
    try:
        from cuda.bindings import driver
    except ImportError:
        raise UsageError("running on a GPU needs cuda-python: pip install 'tileverify[cuda]'") from None
    try:
        (status,) = driver.cuInit(0)
    except RuntimeError as error:  # no libcuda
        raise UsageError(f"there is no CUDA driver here: {error}") from None
    if status != driver.CUresult.CUDA_SUCCESS:
        raise UsageError(f"there is no GPU here: cuInit says {status.name}")
    return driver


@cache
def present() -> bool:
    """Whether there are cuda-python, a driver and a GPU."""
    try:
        bindings()
    except UsageError:
        return False
    return True


def called(result: tuple[Any, ...]) -> Any:
    """What a call returned beside its status; raises `DriverFailure` for any status but success."""
    status, *rest = result
    if status != bindings().CUresult.CUDA_SUCCESS:
        raise DriverFailure(f"the CUDA driver says {status.name}")
    return rest[0] if rest else None


def succeeded(status: int) -> None:
    """The same for calls past the bindings, whose status is a number."""
    if status:
        raise DriverFailure(f"the CUDA driver says {bindings().CUresult(status).name}")


_ORDINAL: Final = 9
"""``CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`` of cuda.h."""


def device_of(address: int) -> int:
    """The number of the device whose memory ``address`` lies in; raises `UsageError` for memory of the host.

    The driver is asked past ``cuda.bindings``, which says 0 for every device (seen with 13.3.1 and two GPUs).
    """
    bindings()
    ordinal = ctypes.c_int(-1)
    if _library().cuPointerGetAttribute(ctypes.byref(ordinal), _ORDINAL, ctypes.c_uint64(address)):
        raise UsageError(f"the address {address:#x} is not one of a GPU's memory")
    return ordinal.value


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


@cache
def architecture(device: int) -> str:
    """``sm_90``"""
    driver = bindings()
    handle = called(driver.cuDeviceGet(device))
    attributes = driver.CUdevice_attribute
    major = called(driver.cuDeviceGetAttribute(attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle))
    minor = called(driver.cuDeviceGetAttribute(attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle))
    return f"sm_{major}{minor}"


def starts_early(device: int) -> bool:
    """Whether the device knows programmatic dependent launches: from compute capability 9.0 on."""
    return int(architecture(device).removeprefix("sm_")) >= _FIRST_EARLY


_FIRST_EARLY: Final = 90


class _Edge(ctypes.Structure):
    """``CUgraphEdgeData`` of cuda.h."""

    _fields_ = [
        ("from_port", ctypes.c_ubyte),
        ("to_port", ctypes.c_ubyte),
        ("kind", ctypes.c_ubyte),
        ("reserved", ctypes.c_ubyte * 5),
    ]


_PROGRAMMATIC_PORT: Final = 1
"""``CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC`` of cuda.h: all blocks have let dependents start, or have ended."""

_PROGRAMMATIC: Final = 1
"""``CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC`` of cuda.h."""


def let_start_early(graph: SupportsInt, ahead: SupportsInt, node: SupportsInt) -> None:
    """A programmatic edge from one kernel node to another, which has none yet; raises `DriverFailure`.

    Past ``cuda.bindings``, whose name for the call depends on its version.
    """
    edge = _Edge(_PROGRAMMATIC_PORT, 0, _PROGRAMMATIC)
    handles = [(ctypes.c_void_p * 1)(int(each)) for each in (ahead, node)]
    status = _library().cuGraphAddDependencies_v2(
        ctypes.c_void_p(int(graph)), *handles, ctypes.byref(edge), ctypes.c_size_t(1)
    )
    if status:
        raise DriverFailure(f"the CUDA driver refuses an early start in a graph (error {status})")


@cache
def primary_context(device: int) -> Any:
    """The context that frameworks use as well."""
    driver = bindings()
    return called(driver.cuDevicePrimaryCtxRetain(called(driver.cuDeviceGet(device))))


def take_context(device: int) -> None:
    """Make the device's own context that of this thread, as the CUDA runtime does at a thread's first call."""
    called(bindings().cuCtxSetCurrent(primary_context(device)))


@contextmanager
def current(device: int) -> Iterator[None]:
    """Within the device's own context, whatever the thread's was."""
    driver = bindings()
    called(driver.cuCtxPushCurrent(primary_context(device)))
    try:
        yield
    finally:
        called(driver.cuCtxPopCurrent())


@cache
def several() -> bool:
    """Whether this process sees several GPUs, so that the thread's current one may be another than is meant."""
    try:
        return int(called(bindings().cuDeviceGetCount())) > 1
    except UsageError:  # no driver: nothing is launched by it
        return False


def load(device: int, cubin: bytes, symbol: str) -> int:
    """The kernel of a cubin: the ``CUfunction`` of the device's primary context, as a number."""
    driver = bindings()
    with current(device):
        library = called(driver.cuLibraryLoadData(cubin, [], [], 0, [], [], 0))
        return int(called(driver.cuKernelGetFunction(called(driver.cuLibraryGetKernel(library, symbol.encode())))))


def stream_handle(stream: object) -> int:
    """The driver's handle of a stream of torch, CuPy, cuda.core or Numba, or a number; raises `UsageError`."""
    handle = getattr(stream, "cuda_stream", None)  # torch's, which is quick
    if handle is not None:
        return int(handle)
    if stream is None:
        return 0
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        _, handle = protocol()
        return int(handle)
    for name in ("ptr", "handle"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle))
    raise UsageError(f"{stream!r} is no CUDA stream")


def device_bytes(address: int, size: int) -> NDArray[np.uint8]:
    """A copy of device memory as it is behind all that its device was given, on whichever stream."""
    driver = bindings()
    data = np.empty(size, np.uint8)
    with current(device_of(address)):
        called(driver.cuCtxSynchronize())
        called(driver.cuMemcpyDtoH(data.ctypes.data, address, size))
    return data


class DeviceMemory:
    """``data`` on a device, for as long as this object lives; freeing waits for the device."""

    def __init__(self, device: int, data: bytes) -> None:
        driver = bindings()
        self._device = device
        with current(device):
            self._memory = called(driver.cuMemAlloc(len(data)))
            called(driver.cuMemcpyHtoD(self._memory, data, len(data)))

    @classmethod
    def uninitialised(cls, device: int, size: int) -> DeviceMemory:
        """So many bytes, whatever they hold."""
        made = cls.__new__(cls)
        made._device = device
        with current(device):
            made._memory = called(bindings().cuMemAlloc(size))
        return made

    @property
    def address(self) -> int:
        return int(self._memory)

    _at_the_end: ClassVar[Any] = staticmethod(sys.is_finalizing)  # this module's own names are gone by then

    def __del__(self) -> None:
        memory = getattr(self, "_memory", None)
        if memory is not None and not self._at_the_end():  # the process takes its memory with it
            driver = bindings()
            driver.cuCtxPushCurrent(primary_context(self._device))
            driver.cuMemFree(memory)
            driver.cuCtxPopCurrent()
