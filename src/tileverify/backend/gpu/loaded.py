"""Proved machine code on one GPU: the parameters of its launches, graphs of launches, and how long one takes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final, SupportsInt

import numpy as np

from ...contract.launch import EntryParameter, Role
from ...system.errors import UsageError
from ..guard.arguments import ArrayValue, Grid, LaunchRefused, Value
from . import driver
from .driver import SavedDeviceMemory


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

    ``early``: it may start before the kernel ahead of it on its stream has ended (`launching.reach`).
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
            alone = any(each.role is Role.ADDRESSES and each.argument == name for each in self.parameters)
            rows[name] = driver.DeviceMemory(self.device, descriptors(arrays, addresses_alone=alone))
            places[name] = rows[name].address, len(arrays)
        parameters = packed(self.parameters, self.types, values, places)
        return Plan(self, grid, parameters, tuple(rows.values()), early and driver.starts_early(self.device))


@cache
def _cu_launch_kernel_ex() -> Callable[..., int]:
    """The driver's own entry point: a binding in between would cost as much.

    The interpreter's lock is held during the call, as ``cuda.tile.launch`` does: what `launch_log` rests on.
    """
    found: Callable[..., int] = ctypes.PyDLL("libcuda.so.1").cuLaunchKernelEx
    return found


# ------------------------------------------------------------------------------------------------------- argument bytes
# Parameters of an entry in memory, as the driver takes them.


_SLOT: Final = 8
_INTEGERS: Final = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
_FLOATS: Final = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}


@dataclass(frozen=True, slots=True)
class Packed:
    """``pointers``: the address of an array with the address of every parameter; alive as long as this object."""

    pointers: int
    _alive: tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_void_p]]


def packed(
    parameters: Sequence[EntryParameter],
    types: Sequence[str],
    values: Mapping[str, Value],
    lists: Mapping[str, tuple[int, int]],
) -> Packed:
    """Every parameter in its own 8 bytes.

    ``types``: ``tile<ptr<f32>>``, ``tile<i32>`` and so on, in ABI order.  ``lists``: the address of a list's
    descriptors, and its length.  Raises `LaunchRefused` (TV502) for a number that its parameter cannot hold: what was
    proved speaks of the number, not of what would be left of it.
    """
    slots = [
        _bytes(parameter, _element(type_), values, lists).ljust(_SLOT, b"\0")
        for parameter, type_ in zip(parameters, types, strict=True)
    ]
    memory = ctypes.create_string_buffer(b"".join(slots) or bytes(_SLOT))
    start = ctypes.addressof(memory)
    addresses = (ctypes.c_void_p * max(1, len(parameters)))(*(start + _SLOT * n for n in range(len(parameters))))
    return Packed(ctypes.addressof(addresses), (memory, addresses))


def descriptors(arrays: Sequence[ArrayValue], *, addresses_alone: bool = False) -> bytes:
    """A row for each array of a list: address, sizes and strides as 64-bit words (cuda.tile's calling convention), or
    its address alone.

    Raises `LaunchRefused` for what does not fit its word.
    """
    rows = (
        [
            _address("an array's address", array.address),
            *(_index("a size or stride in a list", n, "i64") for n in words),
        ]
        for array in arrays
        for words in [() if addresses_alone else (*array.shape, *array.strides)]
    )
    return b"".join(word for row in rows for word in row) or bytes(_SLOT)


def _element(type_: str) -> str:
    """Parameters are tiles without dimensions."""
    return type_.removeprefix("tile<").removesuffix(">") if type_.startswith("tile<") else type_


def _bytes(
    parameter: EntryParameter, type_: str, values: Mapping[str, Value], lists: Mapping[str, tuple[int, int]]
) -> bytes:
    name = parameter.argument
    if parameter.role in (Role.LIST_POINTER, Role.ADDRESSES):
        return _address(f"the address of `{name}`", lists[name][0])
    if parameter.role is Role.LIST_LENGTH:
        return _index(f"the length of `{name}`", lists[name][1], type_)
    value = values[name]
    if parameter.role is Role.SCALAR:
        assert not isinstance(value, ArrayValue)
        return _scalar(name, value, type_)
    assert isinstance(value, ArrayValue)
    if parameter.role is Role.POINTER:
        return _address(f"the address of `{name}`", value.address)
    assert parameter.dim is not None
    if parameter.role is Role.PARTITION:  # nobody reads it; as the launcher passes it
        own = parameter.static
        number = own if own is not None else value.strides[parameter.dim - len(value.strides)]
        return _index(f"number {parameter.dim} of the partition of `{name}`", number, type_)
    shape = parameter.role is Role.SHAPE
    what = f"{'size' if shape else 'stride'} {parameter.dim} of `{name}`"
    return _index(what, (value.shape if shape else value.strides)[parameter.dim], type_)


def _address(what: str, value: int) -> bytes:
    return _number(what, value, 0, (1 << 8 * _SLOT) - 1, "i64")


def _index(what: str, value: int, type_: str) -> bytes:
    """A size, stride or length: not negative, and inside the signed type."""
    return _number(what, value, 0, (1 << (8 * _INTEGERS[type_] - 1)) - 1, type_)


def _number(what: str, value: float, low: int, high: int, type_: str) -> bytes:
    if not isinstance(value, int) or not low <= value <= high:
        raise _refused(what, value, low, high, type_)
    return (value & ((1 << 8 * _INTEGERS[type_]) - 1)).to_bytes(_INTEGERS[type_], "little")


def _refused(what: str, value: float, low: int, high: int, type_: str) -> LaunchRefused:
    given = repr(value) if not isinstance(value, int) or value.bit_length() <= 256 else "too large"
    return LaunchRefused(f"nothing was launched: {what} is {given}, not between {low} and {high}, as {type_} (TV502)")


def _scalar(name: str, value: float, type_: str) -> bytes:
    if type_ in _INTEGERS:
        # The type has no sign, so both readings of its bits are whole.
        bits = 1 if type_ == "i1" else 8 * _INTEGERS[type_]
        return _number(f"`{name}`", value, 0 if bits == 1 else -(1 << (bits - 1)), (1 << bits) - 1, type_)
    try:
        value = float(value)
    except OverflowError:
        raise LaunchRefused(f"nothing was launched: `{name}` is too large for {type_} (TV502)") from None
    if type_ == "bf16":
        return _bfloat16(value)
    if type_ not in _FLOATS:
        raise UsageError(f"a scalar of type {type_} cannot be passed to a kernel")
    with np.errstate(over="ignore"):
        return np.asarray(value, _FLOATS[type_]).tobytes()


def _bfloat16(value: float) -> bytes:
    """The upper half of binary32, rounded to nearest even."""
    with np.errstate(over="ignore"):
        bits = int(np.asarray(value, "<f4").view("<u4"))
    if value != value:
        return ((bits >> 16) | 0x40).to_bytes(2, "little")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF).to_bytes(2, "little")


# ---------------------------------------------------------------------------------------------------------------- graph
# A graph of kernel launches, by the driver.


class CudaGraph:
    """On one device.  The driver copies parameters, so that plans may go once they were added."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._graph = driver.called(driver.bindings().cuGraphCreate(0))
        self._executable: Any = None

    def add(self, plan: Plan, after: Sequence[SupportsInt], *, early: bool = False) -> object:
        """``early``: it may start before the one that it comes behind has ended, where the device knows such starts."""
        early = early and driver.starts_early(self._device)
        nodes = [] if early else list(after)
        node = driver.called(
            driver.bindings().cuGraphAddKernelNode(self._graph, nodes, len(nodes), self._parameters(plan))
        )
        if early:
            (ahead,) = after
            driver.let_start_early(self._graph, ahead, node)
        return node

    def _parameters(self, plan: Plan) -> Any:
        bindings = driver.bindings()
        found = bindings.CUDA_KERNEL_NODE_PARAMS()
        found.func = bindings.CUfunction(plan.kernel.function.value)
        found.gridDimX, found.gridDimY, found.gridDimZ = plan.grid
        found.blockDimX = found.blockDimY = found.blockDimZ = 1
        found.sharedMemBytes = 0
        found.kernelParams = plan.parameters.pointers
        found.ctx = driver.primary_context(self._device)
        return found

    def finish(self) -> None:
        bindings = driver.bindings()
        with driver.current(self._device):
            self._executable = driver.called(bindings.cuGraphInstantiate(self._graph, 0))

    def change(self, handle: object, plan: Plan) -> None:
        bindings = driver.bindings()
        driver.called(bindings.cuGraphExecKernelNodeSetParams(self._executable, handle, self._parameters(plan)))

    def replay(self, stream: object) -> None:
        with driver.current(self._device) if driver.several() else nullcontext():
            driver.called(driver.bindings().cuGraphLaunch(self._executable, driver.stream_handle(stream)))

    def __del__(self) -> None:
        bindings = driver.bindings()
        if self._executable is not None:
            bindings.cuGraphExecDestroy(self._executable)
        bindings.cuGraphDestroy(self._graph)


# --------------------------------------------------------------------------------------------------------------- timing
# How long a launch takes on the GPU: events around it, behind a sweep of the L2 cache.


SWEPT: Final = 256 << 20
"""Bytes that are written before every launch, several times any L2 cache."""


class CudaTimer:
    """Events of the driver."""

    def __init__(self) -> None:
        self._swept: dict[int, driver.DeviceMemory] = {}

    def provenance(self, device: int) -> Mapping[str, str]:
        bindings = driver.bindings()
        name = driver.called(bindings.cuDeviceGetName(100, driver.called(bindings.cuDeviceGet(device))))
        version = driver.called(bindings.cuDriverGetVersion())
        return {"device": name.split(b"\0")[0].decode(), "cuda": str(version)}

    def saved(self, device: int, ranges: Sequence[tuple[int, int]], stream: object) -> SavedDeviceMemory:
        return SavedDeviceMemory(device, ranges, stream)

    def microseconds(self, plan: Plan, stream: object) -> float:
        bindings, handle, device = driver.bindings(), driver.stream_handle(stream), plan.kernel.device
        driver.called(bindings.cuCtxPushCurrent(driver.primary_context(device)))
        try:
            if device not in self._swept:
                self._swept[device] = driver.DeviceMemory(device, bytes(SWEPT))
            start, end = (driver.called(bindings.cuEventCreate(bindings.CUevent_flags.CU_EVENT_DEFAULT)) for _ in "se")
            try:
                driver.called(bindings.cuMemsetD8Async(self._swept[device].address, 0, SWEPT, handle))
                driver.called(bindings.cuEventRecord(start, handle))
                plan.launch(stream)
                driver.called(bindings.cuEventRecord(end, handle))
                driver.called(bindings.cuEventSynchronize(end))
                return 1000 * float(driver.called(bindings.cuEventElapsedTime(start, end)))
            finally:
                for event in (start, end):
                    bindings.cuEventDestroy(event)
        finally:
            driver.called(bindings.cuCtxPopCurrent())
