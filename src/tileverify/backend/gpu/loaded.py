"""Proved machine code on one GPU, with the parameters of its launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final

from ...contract.launch import EntryParameter
from ..guard.arguments import ArrayValue, Grid, Value
from . import driver
from .argument_bytes import Packed, descriptors, packed


class _Config(ctypes.Structure):
    """``CUlaunchConfig`` of cuda.h; ``kept``: what ``attributes`` points to."""

    kept: _Attribute

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint),
    ]


class _Attribute(ctypes.Structure):
    """``CUlaunchAttribute`` of cuda.h; its value is a union of 64 bytes, of which the first ones count here."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


_PROGRAMMATIC_STREAM_SERIALIZATION: Final = 6
"""``CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`` of cuda.h."""

_INVALID_CONTEXT: Final = 201
"""``CUDA_ERROR_INVALID_CONTEXT`` of cuda.h."""


@dataclass(eq=False, slots=True)
class Plan:
    """A launch that was checked; it may be made again and again, on any stream of its device.

    ``early``: it may start before the kernel ahead of it on its stream has ended (`backend.early_start`).
    """

    kernel: GpuKernel
    grid: Grid
    parameters: Packed
    alive: tuple[driver.DeviceMemory, ...] = ()
    early: bool = False
    _bound: dict[int, Callable[[], int]] = field(default_factory=dict)

    @property
    def code(self) -> bytes:
        """The machine code."""
        return self.kernel.cubin

    def launch(self, stream: object) -> None:
        """``stream``: of torch, CuPy, cuda.core or Numba, or the driver's handle; raises `DriverFailure`."""
        call = self.bound(driver.stream_handle(stream))
        status = call()
        if status:
            self.retry(status, call)

    def bound(self, stream: int) -> Callable[[], int]:
        """The call of the driver that makes the launch on a stream; it gives the driver's status."""
        found = self._bound.get(stream)
        if found is None:
            config = self._config(stream)
            parameters, function = _pointer(self.parameters.pointers), _pointer(self.kernel.function.value)
            call: Callable[[], int] = partial(_cu_launch_kernel_ex(), ctypes.byref(config), function, parameters, None)
            if driver.several():
                call = partial(_within, self.kernel.device, call)
            found = self._bound[stream] = call
        return found

    def _config(self, stream: int) -> _Config:
        config = _Config((ctypes.c_uint * 3)(*self.grid), (ctypes.c_uint * 3)(1, 1, 1), 0, stream, None, 0)
        if self.early:
            attribute = _Attribute(_PROGRAMMATIC_STREAM_SERIALIZATION, 0, 1)
            config.attributes, config.attribute_count = ctypes.addressof(attribute), 1
            config.kept = attribute
        return config

    def retry(self, status: int, call: Callable[[], int]) -> None:
        """After a ``call`` with a status other than 0: again, where the thread had no context, and gets the device's.

        So it is in threads in which nobody has used the device, such as that of torch's automatic differentiation.
        Raises `DriverFailure` otherwise.
        """
        if status == _INVALID_CONTEXT:
            driver.take_context(self.kernel.device)
            status = call()
        if status:
            raise driver.DriverFailure(f"{self.kernel.symbol}: the CUDA driver refuses the launch (error {status})")


def _within(device: int, call: Callable[[], int]) -> int:
    """A default stream is that of the thread's current device, and nothing stops a launch on the wrong one."""
    with driver.current(device):
        return call()


def _pointer(address: int | None) -> Any:
    """An argument for ctypes that is converted already, which a number and a ``c_void_p`` are not."""
    assert address is not None
    return ctypes.byref(ctypes.c_char.from_address(address))


@dataclass(eq=False)
class GpuKernel:
    """A cubin of this tool's own making, loaded on ``device``.

    ``parameters`` and ``types`` (``tile<ptr<f32>>``, ``tile<i32>``, ...) are the entry's, in ABI order.
    """

    cubin: bytes
    symbol: str
    parameters: Sequence[EntryParameter]
    types: Sequence[str]
    device: int
    function: ctypes.c_void_p = field(init=False)

    def __post_init__(self) -> None:
        self.function = ctypes.c_void_p(driver.load(self.device, self.cubin, self.symbol))

    def plan(
        self,
        grid: Grid,
        values: Mapping[str, Value],
        lists: Mapping[str, Sequence[ArrayValue]] | None = None,
        *,
        early: bool = False,
    ) -> Plan:
        """A launch with these arguments by name, which somebody has checked; descriptors of lists live with it.

        ``early`` means nothing to a GPU that knows of no such starts.
        """
        rows: dict[str, driver.DeviceMemory] = {}
        places: dict[str, tuple[int, int]] = {}
        for name, arrays in (lists or {}).items():
            rows[name] = driver.DeviceMemory(self.device, descriptors(arrays))
            places[name] = rows[name].address, len(arrays)
        parameters = packed(self.parameters, self.types, values, places)
        return Plan(self, grid, parameters, tuple(rows.values()), early and driver.starts_early(self.device))


@cache
def _cu_launch_kernel_ex() -> Callable[..., int]:
    """The driver's own entry point: a binding in between would cost as much.

    The interpreter's lock is held during the call, as ``cuda.tile.launch`` does: what `journal` rests on.
    """
    found: Callable[..., int] = ctypes.PyDLL("libcuda.so.1").cuLaunchKernelEx
    return found
