"""Streams and events of the driver, as the ledger of work in flight asks for them.

Events are recorded, asked and waited for by the driver's own entry points: a binding in between would cost as much.
Waiting for an event stands for what it was when the wait was issued (CUDA programming guide, "Events"), so that it may
be recorded again while the wait is pending.  Streams of torch live as long as the process; every other one may be
destroyed, and its handle be given to a new one, which only the driver's number for a stream tells.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from ...system.errors import UsageError
from ..ledger import LEGACY, PER_THREAD, StreamId
from . import driver

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
        handle = driver.stream_handle(stream)
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
    bindings = driver.bindings()
    with driver.current(device):
        return int(driver.called(bindings.cuEventCreate(bindings.CUevent_flags.CU_EVENT_DISABLE_TIMING)))


def _succeeded(status: int) -> None:
    if status in _CAPTURE_ERRORS:
        raise UsageError(
            "launches that are being captured cannot be ordered with those of other streams: use tileverify.graph()"
        )
    driver.succeeded(status)


def _within(device: int, stream: int, call: Callable[..., int], *arguments: object) -> None:
    """A ``call`` about a stream; raises `DriverFailure`, and `UsageError` while something is captured.

    A default stream is that of the current context, every other one knows its own, so that the context is asked for
    only where the thread turns out to have none.
    """
    if stream in (LEGACY, PER_THREAD) or call(*arguments):
        calls = _calls()
        driver.succeeded(calls.push(_context(device)))
        try:
            _succeeded(call(*arguments))
        finally:
            calls.pop(ctypes.byref(ctypes.c_void_p()))


@cache
def _context(device: int) -> int:
    return int(driver.primary_context(device))
