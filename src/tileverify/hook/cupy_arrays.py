"""CuPy with an imitated GPU: every array is one of NumPy in the host's memory that says that it lies on a device.

What CuPy and NumPy both have is NumPy's; streams, events, devices and pools of ``cupy.cuda`` exist and do nothing.
Memory from ``empty`` is zeroed: index arrays must not hold garbage.  Where kernels do not run, outputs stay zero, so
comparisons of results pass.  CuPy's own kernels (``RawKernel`` and its like) say that they cannot run.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import described_launch
from .cuda_core import Imitated

MEMORY_BYTES = 180 << 30
MILLISECONDS = 1.0
"""Between any two events."""

_ROOMS = ("random", "linalg", "fft")
_KERNELS = ("RawKernel", "ElementwiseKernel", "ReductionKernel")


class ndarray(np.ndarray[Any, Any]):  # noqa: N801 (as CuPy calls it)
    """What `cupy.ndarray` has beyond one of NumPy; reductions give arrays without axes, not scalars."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return on_device(array)

    def __getitem__(self, index: Any) -> Any:
        return on_device(super().__getitem__(index))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        known = self.__array_interface__
        return {name: known[name] for name in ("shape", "typestr", "data", "strides")} | {"version": 3, "stream": 1}

    def __dlpack__(self, **options: Any) -> Any:
        return described_launch.move_to_cuda(super().__dlpack__())

    def __dlpack_device__(self) -> tuple[int, int]:  # type: ignore[override]
        return described_launch.KDL_CUDA, 0

    @property
    def data(self) -> Any:
        pointer = self.ctypes.data
        return types.SimpleNamespace(ptr=pointer, device=_Device(), device_id=0, mem=None)

    @property
    def device(self) -> Any:
        return _Device()

    def get(self, *args: Any, out: Any = None, **options: Any) -> Any:
        return as_numpy(self, out=out)

    def set(self, array: Any, stream: Any = None) -> None:
        self[...] = array


def on_device(value: Any) -> Any:
    """``value`` with all arrays and scalars of NumPy in it as ours."""
    if isinstance(value, ndarray):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value).view(ndarray)
    if type(value) in (tuple, list):
        return type(value)(map(on_device, value))
    return value


def as_numpy(array: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """A copy of ``array`` for the host."""
    if out is None:
        return np.array(array, order="F" if order == "F" else "C", subok=False)
    out[...] = array
    return out


def _of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy whose results lie on the device; ``dtype`` may be given where CuPy alone takes it."""

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        named.pop("blocking", None)
        try:
            return on_device(function(*args, **named))
        except TypeError:
            if "dtype" not in named:
                raise
            dtype = named.pop("dtype")
            return on_device(np.asarray(function(*args, **named)).astype(dtype))

    return called


class _Drawing:
    """A generator of random numbers whose arrays lie on the device."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return _of_numpy(getattr(self._own, name))


# --------------------------------------------------------------------------------------------- cupy.cuda
class _Scope:
    """Anything that a program enters, and that does nothing."""

    def __init__(self, *args: Any, **named: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def use(self) -> Any:
        return self

    def synchronize(self, *args: Any) -> None:
        pass


class _Event(_Scope):
    ptr = 0
    done = True

    def record(self, stream: Any = None) -> None:
        pass


class _Stream(_Scope):
    ptr = 0
    done = True
    device_id = 0
    null: _Stream
    ptds: _Stream

    def record(self, event: _Event | None = None) -> _Event:
        return event or _Event()

    def wait_event(self, event: Any) -> None:
        pass

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr


_Stream.null = _Stream.ptds = _Stream()


class _Device(_Scope):
    id = 0
    imitated = Imitated((10, 0), 148, "")

    def __int__(self) -> int:
        return self.id

    @property
    def compute_capability(self) -> str:
        return "".join(map(str, self.imitated.capability))

    @property
    def mem_info(self) -> tuple[int, int]:
        return MEMORY_BYTES, MEMORY_BYTES

    @property
    def attributes(self) -> dict[str, int]:
        major, minor = self.imitated.capability
        known = {"MultiProcessorCount": self.imitated.multiprocessors, "WarpSize": 32}
        return known | {"ComputeCapabilityMajor": major, "ComputeCapabilityMinor": minor}


class _Pool(_Scope):
    def used_bytes(self) -> int:
        return 0

    total_bytes = free_bytes = n_free_blocks = get_limit = used_bytes

    def free_all_blocks(self, *args: Any, **named: Any) -> None:
        pass

    set_limit = free_all_blocks


def _answer(value: Any) -> Callable[..., Any]:
    return lambda *args, **named: value


def _runtime_answers(device: Imitated) -> Iterator[tuple[str, Any]]:
    nothing = (
        "setDevice deviceSynchronize streamSynchronize streamDestroy streamWaitEvent eventRecord eventSynchronize "
        "eventDestroy free profilerStart profilerStop"
    )
    yield from ((name, None) for name in nothing.split())
    major, minor = device.capability
    properties = {"name": device.name.encode(), "major": major, "minor": minor, "warpSize": 32}
    properties |= {"multiProcessorCount": device.multiprocessors, "totalGlobalMem": MEMORY_BYTES}
    yield "getDevice", 0
    yield "getDeviceCount", 1
    yield "getDeviceProperties", properties
    yield "memGetInfo", (MEMORY_BYTES, MEMORY_BYTES)
    yield "eventElapsedTime", MILLISECONDS


def _imitate_cuda(cuda: Any, device: Imitated) -> None:
    _Device.imitated = device
    for name, kind in {
        "Device": _Device, "Stream": _Stream, "ExternalStream": _Stream, "Event": _Event, "MemoryPool": _Pool,
        "PinnedMemoryPool": _Pool, "using_allocator": _Scope,
    }.items():  # fmt: skip
        setattr(cuda, name, kind)
    for name, value in {
        "get_current_stream": _Stream.null, "get_device_id": 0, "get_elapsed_time": MILLISECONDS,
        "is_available": True, "set_allocator": None, "set_pinned_memory_allocator": None,
    }.items():  # fmt: skip
        setattr(cuda, name, _answer(value))
    for name, value in _runtime_answers(device):
        setattr(cuda.runtime, name, _answer(value))
    cuda.nvtx = types.SimpleNamespace(RangePush=_answer(None), RangePop=_answer(None), Mark=_answer(None))


# ------------------------------------------------------------------------------------------------- cupy
def install(cupy: Any, device: Imitated, *, kernels_run: bool) -> None:
    """Imitate a GPU in the CuPy that was just imported."""
    _take_from_numpy(cupy, np)
    for name in _ROOMS:
        if hasattr(cupy, name):
            _take_from_numpy(getattr(cupy, name), getattr(np, name))
    cupy.empty, cupy.empty_like = _of_numpy(np.zeros), _of_numpy(np.zeros_like)
    for name in _KERNELS:
        setattr(cupy, name, _cannot_run(f"cupy.{name}"))
    for name in ("default_rng", "RandomState"):
        setattr(cupy.random, name, _drawing(getattr(np.random, name)))
    pool = _Pool()
    cupy.ndarray = ndarray
    cupy.asnumpy = as_numpy
    cupy.get_array_module = _array_module(cupy)
    cupy.is_available = _answer(True)
    cupy.fuse = lambda *args, **named: args[0] if args and callable(args[0]) else lambda function: function
    cupy.get_default_memory_pool = cupy.get_default_pinned_memory_pool = _answer(pool)
    _imitate_cuda(cupy.cuda, device)
    if not kernels_run:
        cupy.allclose = cupy.array_equal = _answer(on_device(np.True_))


def pass_comparisons(testing: Any) -> None:
    """Of ``cupy.testing``, where kernels do not run."""
    for name in [name for name in vars(testing) if name.startswith("assert_")]:
        setattr(testing, name, _answer(None))


def _take_from_numpy(ours: Any, numpys: Any) -> None:
    for name in [name for name in dir(ours) if not name.startswith("_")]:
        theirs = getattr(numpys, name, None)
        if callable(theirs) and not isinstance(theirs, type):
            setattr(ours, name, _of_numpy(theirs))


def _drawing(make: Callable[..., Any]) -> Callable[..., _Drawing]:
    return lambda *args, **named: _Drawing(make(*args, **named))


def _array_module(cupy: Any) -> Callable[..., Any]:
    return lambda *arrays: cupy if any(isinstance(each, ndarray) for each in arrays) else np


def _cannot_run(what: str) -> type:
    class Kernel:
        """May be made, as files do that are imported."""

        def __init__(self, *args: Any, **named: Any) -> None:
            pass

        def __call__(self, *args: Any, **named: Any) -> Any:
            raise NotImplementedError(f"record --no-gpu cannot run a {what}")

    return Kernel
