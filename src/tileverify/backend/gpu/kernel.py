"""Proved machine code on one GPU, with the parameters of its launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...frontend.sources.launch import EntryParameter
from ..launch.arguments import ArrayValue, Grid, Value
from . import driver
from .packing import Packed, descriptors, packed


class _Config(ctypes.Structure):
    """``CUlaunchConfig`` of cuda.h."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint),
    ]


@dataclass(eq=False, slots=True)
class Plan:
    """A launch that was checked; it may be made again and again, on any stream of its device."""

    kernel: GpuKernel
    grid: Grid
    parameters: Packed
    alive: tuple[driver.DeviceMemory, ...] = ()
    _parameters: ctypes.c_void_p = field(init=False)
    _configs: dict[int, tuple[Any, _Config]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._parameters = ctypes.c_void_p(self.parameters.pointers)

    def launch(self, stream: Any) -> None:
        """``stream``: of torch, CuPy, cuda.core or Numba, or the driver's handle."""
        try:
            config = self._configs[stream.cuda_stream][0]  # the most usual, and the quickest
        except (AttributeError, KeyError):
            config = self._configured(driver.stream_handle(stream))
        status = _cu_launch_kernel_ex(config, self.kernel.function, self._parameters, None)
        if status:
            raise driver.DriverFailure(f"{self.kernel.symbol}: the CUDA driver refuses the launch (error {status})")

    def _configured(self, stream: int) -> Any:
        if stream not in self._configs:
            config = _Config((ctypes.c_uint * 3)(*self.grid), (ctypes.c_uint * 3)(1, 1, 1), 0, stream, None, 0)
            self._configs[stream] = ctypes.byref(config), config
        return self._configs[stream][0]


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
        self, grid: Grid, values: Mapping[str, Value], lists: Mapping[str, Sequence[ArrayValue]] | None = None
    ) -> Plan:
        """A launch with these arguments by name, which somebody has checked; descriptors of lists live with it."""
        rows: dict[str, driver.DeviceMemory] = {}
        places: dict[str, tuple[int, int]] = {}
        for name, arrays in (lists or {}).items():
            rows[name] = driver.DeviceMemory(self.device, descriptors(arrays))
            places[name] = rows[name].address, len(arrays)
        return Plan(self, grid, packed(self.parameters, self.types, values, places), tuple(rows.values()))


def _first_launch(*arguments: Any) -> int:
    """Replaced by the driver's own entry point when it is first needed: a binding in between would cost as much."""
    global _cu_launch_kernel_ex
    _cu_launch_kernel_ex = ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx
    return int(_cu_launch_kernel_ex(*arguments))


_cu_launch_kernel_ex: Callable[..., int] = _first_launch
