"""The CUDA driver through cuda-python: loading and launching, streams and events, scratch and saved memory.

A launch's grid counts tile blocks and its block size is (1, 1, 1): the cubin itself says how many threads run a tile
block (``tileiras`` writes ``.reqntid``).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple, SupportsInt

import numpy as np
from numpy.typing import NDArray

from ...system.errors import TileVerifyError, UsageError
from ..ledger import LEGACY, PER_THREAD, StreamId


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


# --------------------------------------------------------------------------------------------------------------- events
# Streams and events of the driver, as the ledger of work in flight asks for them.
#
# Events are recorded, asked and waited for by the driver's own entry points: a binding in between would cost as much.
# Waiting for an event stands for what it was when the wait was issued (CUDA programming guide, "Events"), so that it
# may be recorded again while the wait is pending.  Streams of torch live as long as the process; every other one may be
# destroyed, and its handle be given to a new one, which only the driver's number for a stream tells.


_NON_BLOCKING: Final = 1
"""``CU_STREAM_NON_BLOCKING``: not ordered with the legacy default stream."""

_NOT_READY: Final = 600
"""``CUDA_ERROR_NOT_READY`` of cuda.h."""

_CAPTURED: Final = 1
"""``CU_STREAM_CAPTURE_STATUS_ACTIVE`` of cuda.h."""

_CAPTURE_ERRORS: Final = range(900, 909)
"""``CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`` to ``CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD`` of cuda.h."""

_LASTING: Final = ("torch.cuda.streams", "Stream")
"""Whose streams come from a pool that is never emptied; ``ExternalStream`` is a handle of somebody else's."""


class _Calls(NamedTuple):
    """Of the driver; each gives a status.  Handles and contexts are numbers."""

    record: Callable[[int, int], int]
    wait: Callable[[int, int, int], int]
    query: Callable[[int], int]
    synchronize: Callable[[int], int]
    flags: Callable[[int, object], int]
    serial: Callable[[int, object], int]
    capturing: Callable[[int, object], int]
    push: Callable[[int], int]
    pop: Callable[[object], int]


@cache
def _calls() -> _Calls:
    library, handle, out = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p, ctypes.c_void_p

    def call(name: str, *types: type[ctypes._CDataType]) -> Callable[..., int]:
        found = library[name]
        found.argtypes, found.restype = types, ctypes.c_int
        made: Callable[..., int] = found
        return made

    return _Calls(
        call("cuEventRecord", handle, handle),
        call("cuStreamWaitEvent", handle, handle, ctypes.c_uint),
        call("cuEventQuery", handle),
        call("cuEventSynchronize", handle),
        call("cuStreamGetFlags", handle, out),
        call("cuStreamGetId", handle, out),
        call("cuStreamIsCapturing", handle, out),
        call("cuCtxPushCurrent_v2", handle),
        call("cuCtxPopCurrent_v2", out),
    )


class _Event:
    """An event of the driver, which goes back to the ``idle`` ones of its device when nobody needs it any more."""

    __slots__ = ("_idle", "handle")

    def __init__(self, handle: int, idle: list[int]) -> None:
        self.handle = handle
        self._idle = idle

    def __del__(self) -> None:
        self._idle.append(self.handle)


class CudaDevice:
    """All GPUs of this process."""

    def __init__(self) -> None:
        self._lasting: dict[tuple[int, int], StreamId] = {}
        self._idle: dict[int, list[int]] = {}

    def stream(self, device: int, stream: object) -> StreamId:
        found = self._lasting.get((device, getattr(stream, "cuda_stream", -1)))
        return found or self._asked(device, stream)

    def _asked(self, device: int, stream: object) -> StreamId:
        """What the driver says of a stream, each time anew: another one may have come to the same handle."""
        handle = stream_handle(stream)
        if (device, handle) in self._lasting:
            return self._lasting[device, handle]
        if handle == LEGACY:
            found = StreamId(device, LEGACY)
        else:
            calls, flags, serial = _calls(), ctypes.c_uint(), ctypes.c_uint64()
            _within(device, handle, calls.flags, handle, ctypes.byref(flags))
            _within(device, handle, calls.serial, handle, ctypes.byref(serial))
            lasting = (type(stream).__module__, type(stream).__name__) == _LASTING and handle != PER_THREAD
            found = StreamId(device, handle, not flags.value & _NON_BLOCKING, serial.value, lasting)
        if found.lasting:
            self._lasting[device, handle] = found
        return found

    def record(self, stream: StreamId) -> _Event:
        """Raises `UsageError` for a stream that is being captured: what it was given does not run, and a stream that
        waited for the event would be drawn into the capture."""
        calls, capturing = _calls(), ctypes.c_int()
        _within(stream.device, stream.handle, calls.capturing, stream.handle, ctypes.byref(capturing))
        if capturing.value == _CAPTURED:
            _succeeded(_CAPTURE_ERRORS.start)
        idle = self._idle.setdefault(stream.device, [])
        try:
            handle = idle.pop()
        except IndexError:
            handle = _new_event(stream.device)
        event = _Event(handle, idle)
        _within(stream.device, stream.handle, calls.record, handle, stream.handle)
        return event

    def wait(self, stream: StreamId, event: _Event) -> None:
        _within(stream.device, stream.handle, _calls().wait, stream.handle, event.handle, 0)

    def done(self, event: _Event) -> bool:
        status = _calls().query(event.handle)
        if status == _NOT_READY:
            return False
        _succeeded(status)
        return True

    def synchronize(self, event: _Event) -> None:
        _succeeded(_calls().synchronize(event.handle))


def _new_event(device: int) -> int:
    api = bindings()
    with current(device):
        return int(called(api.cuEventCreate(api.CUevent_flags.CU_EVENT_DISABLE_TIMING)))


def _succeeded(status: int) -> None:
    if status in _CAPTURE_ERRORS:
        raise UsageError(
            "launches that are being captured cannot be ordered with those of other streams: use tileverify.graph()"
        )
    succeeded(status)


def _within(device: int, stream: int, call: Callable[..., int], *arguments: object) -> None:
    """A ``call`` about a stream; raises `DriverFailure`, and `UsageError` while something is captured.

    A default stream is that of the current context, every other one knows its own, so that the context is asked for
    only where the thread turns out to have none.
    """
    if stream in (LEGACY, PER_THREAD) or call(*arguments):
        calls = _calls()
        succeeded(calls.push(_context(device)))
        try:
            _succeeded(call(*arguments))
        finally:
            calls.pop(ctypes.byref(ctypes.c_void_p()))


@cache
def _context(device: int) -> int:
    return int(primary_context(device))


# -------------------------------------------------------------------------------------------------------------- scratch
# Small pieces of device memory that are zeroed, used and read on a stream, one user at a time.


class ScratchArray:
    """Numbers of 4 bytes in the memory of a device, as an array that kernels take."""

    def __init__(self, device: int, count: int) -> None:
        self._memory = DeviceMemory(device, bytes(4 * count))
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
        api, device = bindings(), device_of(near)
        found = self._arrays.get((device, what))
        if found is None or found.count != count:
            found = self._arrays[device, what] = ScratchArray(device, count)
        called(api.cuCtxPushCurrent(primary_context(device)))
        try:
            called(api.cuMemsetD8Async(found.address, 0, 4 * count, stream_handle(stream)))
        finally:
            called(api.cuCtxPopCurrent())
        return found

    def number(self, stream: object, near: int, what: str) -> int:
        """The first element, once ``stream`` has come so far."""
        api, device = bindings(), device_of(near)
        data = np.full(1, -1, np.int32)
        called(api.cuCtxPushCurrent(primary_context(device)))
        try:
            handle = stream_handle(stream)
            called(api.cuMemcpyDtoHAsync(data.ctypes.data, self._arrays[device, what].address, 4, handle))
            called(api.cuStreamSynchronize(handle))
        finally:
            called(api.cuCtxPopCurrent())
        return int(data[0])


# --------------------------------------------------------------------------------------------------------- saved memory
# Device memory as it was at one point of a stream, put back where it lies.


class SavedDeviceMemory:
    """``ranges``: first byte and end of each."""

    def __init__(self, device: int, ranges: Sequence[tuple[int, int]], stream: object) -> None:
        self._device = device
        self._copies = [(low, high - low, DeviceMemory.uninitialised(device, high - low)) for low, high in ranges]
        for address, size, copy in self._copies:
            self._move(copy.address, address, size, stream)

    def restore(self, stream: object) -> None:
        """Behind all that ``stream`` was given."""
        for address, size, copy in self._copies:
            self._move(address, copy.address, size, stream)

    def _move(self, to: int, source: int, size: int, stream: object) -> None:
        with current(self._device):
            called(bindings().cuMemcpyDtoDAsync(to, source, size, stream_handle(stream)))
