"""A CUDA driver that does nothing, made of Python callbacks.

``cuda.tile``'s C extension reaches the driver through one number, ``cuGetProcAddress_v2_ptrptr`` of the module
``cuda.tile._load_libcuda``: the address of a pointer to ``cuGetProcAddress_v2``, read when the first array argument is
looked at.  Offering that module with a callback of our own lets the extension derive JIT signatures on a machine
without a GPU, and needs neither a C compiler nor a ``libcuda.so``.  Every entry point succeeds; only questions about
the device get an answer.
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_uint64, c_void_p
from typing import Protocol

_MODULE = "cuda.tile._load_libcuda"

DRIVER_VERSION = 13040
"""What ``cuDriverGetVersion`` answers: CUDA 13.4."""

_CONTEXT = 0x1000
"""Any non-null handle does: no call looks behind it."""

# CUdevice_attribute numbers (cuda.h) and answers; the compute capability is added when the driver is made.
_MAX_THREADS_PER_BLOCK = 1
_MAX_GRID = {5: 2**31 - 1, 6: 65535, 7: 65535}
_MULTIPROCESSORS = 16
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76


class NumberPointer(Protocol):
    """A pointer to one number."""

    def __setitem__(self, index: int, value: int | None, /) -> None: ...


class NoDriver:
    """The callbacks, kept alive for as long as the process runs.

    ``capability`` is the compute capability that the device claims, ``multiprocessors`` its number of SMs.
    """

    def __init__(self, capability: tuple[int, int], multiprocessors: int) -> None:
        self._attributes = {
            **_MAX_GRID,
            _MULTIPROCESSORS: multiprocessors,
            _CAPABILITY_MAJOR: capability[0],
            _CAPABILITY_MINOR: capability[1],
        }
        out_int, out_pointer = POINTER(c_int), POINTER(c_void_p)
        succeed = CFUNCTYPE(c_int)(lambda: 0)
        context: Callable[..., int] = _answer(_CONTEXT)
        self._entry_points: dict[bytes, ctypes._CFunctionType] = {
            b"cuDriverGetVersion": CFUNCTYPE(c_int, out_int)(_answer(DRIVER_VERSION)),
            b"cuDeviceGetCount": CFUNCTYPE(c_int, out_int)(_answer(1)),
            b"cuDeviceGet": CFUNCTYPE(c_int, out_int, c_int)(_answer(0)),
            b"cuDeviceGetAttribute": CFUNCTYPE(c_int, out_int, c_int, c_int)(self._device_attribute),
            b"cuDevicePrimaryCtxRetain": CFUNCTYPE(c_int, out_pointer, c_int)(context),
            b"cuCtxGetCurrent": CFUNCTYPE(c_int, out_pointer)(context),
            b"cuCtxGetDevice": CFUNCTYPE(c_int, out_int)(_answer(0)),
            b"cuCtxGetId": CFUNCTYPE(c_int, c_void_p, POINTER(c_uint64))(lambda _, out: _store(out, 1)),
            b"cuStreamGetCtx": CFUNCTYPE(c_int, c_void_p, out_pointer)(lambda _, out: _store(out, _CONTEXT)),
            b"cuStreamIsCapturing": CFUNCTYPE(c_int, c_void_p, out_int)(lambda _, out: _store(out, 0)),
        }
        self._succeed = succeed
        self._get_proc_address = CFUNCTYPE(c_int, c_char_p, out_pointer, c_int, c_uint64, out_int)(self._look_up)
        self._slot = c_void_p(ctypes.cast(self._get_proc_address, c_void_p).value)

    def _look_up(self, name: bytes, out: NumberPointer, version: int, flags: int, status: NumberPointer | None) -> int:
        out[0] = ctypes.cast(self._entry_points.get(name, self._succeed), c_void_p).value
        if status:
            status[0] = 0
        return 0

    def attribute(self, number: int) -> int:
        """Of the device (``CUdevice_attribute``)."""
        return self._attributes.get(number, 1024)

    def _device_attribute(self, out: NumberPointer, attribute: int, device: int) -> int:
        return _store(out, self.attribute(attribute))

    def offer(self) -> None:
        """Put the stand-in where ``cuda.tile`` looks for the driver; it must not have looked yet."""
        module = types.ModuleType(_MODULE, __doc__)
        module.cuGetProcAddress_v2_ptrptr = ctypes.addressof(self._slot)  # type: ignore[attr-defined]
        module.driver = self  # type: ignore[attr-defined]
        sys.modules[_MODULE] = module


def stand_in() -> NoDriver | None:
    """The driver that was offered in this process, if one was."""
    offered: NoDriver | None = getattr(sys.modules.get(_MODULE), "driver", None)
    return offered


def _store(out: NumberPointer, value: int) -> int:
    out[0] = value
    return 0


def _answer(value: int) -> Callable[..., int]:
    return lambda out, *_: _store(out, value)
