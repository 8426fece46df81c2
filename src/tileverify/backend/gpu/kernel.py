"""Proved machine code on one GPU, with the parameters of its launches."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ...frontend.sources.launch import EntryParameter
from ..launch.arguments import Grid, Value
from . import driver
from .packing import Packed, packed


@dataclass(frozen=True, slots=True)
class Plan:
    """A launch that was checked; it may be made again and again, on any stream of its device."""

    kernel: GpuKernel
    grid: Grid
    parameters: Packed

    def launch(self, stream: int) -> None:
        x, y, z = self.grid
        status = _cu_launch_kernel()(
            self.kernel.function, x, y, z, 1, 1, 1, 0, stream, self.parameters.pointers, None
        )  # fmt: skip
        if status:
            raise driver.DriverFailure(f"{self.kernel.symbol}: the CUDA driver refuses the launch (error {status})")


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

    def plan(self, grid: Grid, values: Mapping[str, Value]) -> Plan:
        """A launch with these arguments by name, which somebody has checked."""
        return Plan(self, grid, packed(self.parameters, self.types, values, {}))


@cache
def _cu_launch_kernel() -> Any:
    """The driver's own entry point: a binding in between would cost as much as the call."""
    function = ctypes.CDLL("libcuda.so.1").cuLaunchKernel
    function.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return function
