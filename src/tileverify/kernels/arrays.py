"""Arrays of NumPy, torch and CuPy: what a host function asks of those that it is given, and makes beside them.

Those of JAX are lent to a host function as arrays of one of these: see `jax_arrays`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar, cast, overload

from ..backend.guard.arguments import ArrayValue
from ..backend.guard.buffers import array_value
from ..launching.given import Stream
from ..system.errors import UsageError
from .array_types import A, AnyArray, Array, ArrayOf, CupyArray, NumPyArray, TorchTensor
from .jax_arrays import is_jax

_NAMES: Final = {
    "bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
}  # fmt: skip
"""Element types as torch calls them, and NumPy with `ml_dtypes`."""

_KNOWN_TO_CUPY: Final = frozenset(_NAMES) - {"bf16", "f8e4m3", "f8e5m2"}
"""Those that an array can have which says what it is by the CUDA array interface."""

KNOWN: Final = "numpy, torch, cupy or jax"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ArrayPackage(Generic[T]):
    """Arrays of one package, which are ``T``.

    ``make(shape, dtype, like)``: a new one, where ``like`` lies, with any contents.  ``stream(like)``: the stream that
    the package uses there, ``None`` for memory of the host.  ``packed(array)``: a copy with the last axis the fastest.
    ``fetched(array)``: its contents as an array of NumPy, when all work on it is done.  ``processors(like)``: how many
    multiprocessors the device has where it lies.
    """

    make: Callable[[tuple[int, ...], str, T], T]
    stream: Callable[[T], Stream]
    packed: Callable[[T], T]
    fetched: Callable[[T], NumPyArray]
    processors: Callable[[T], int]


def package_of(array: object) -> ArrayPackage[Any]:
    """Raises `UsageError` for what is no array of a known package."""
    found = _PACKAGES.get(type(array).__module__.partition(".")[0])
    if found is None:
        raise UsageError(f"a {type(array).__name__} is no array of {KNOWN}")
    return found


def value_of(array: object) -> ArrayValue:
    """Address, sizes, strides and element type; raises `UsageError` for what is no array."""
    value = array_value(array)
    if value is None:
        raise UsageError(f"a {type(array).__name__} is no array of {KNOWN}")
    return value


@overload
def empty(shape: Sequence[int], like: A, dtype: str | None = None) -> A: ...
@overload
def empty(shape: Sequence[int], like: ArrayOf[A], dtype: str | None = None) -> A: ...
def empty(shape: Sequence[int], like: AnyArray, dtype: str | None = None) -> Array:
    """A new array of any contents; ``dtype``: as launch specs call it, that of ``like`` if it is not given."""
    made: Array = package_of(like).make(tuple(shape), dtype or value_of(like).dtype, like)
    return made


@overload
def filled(shape: Sequence[int], value: float, like: A, dtype: str | None = None) -> A: ...
@overload
def filled(shape: Sequence[int], value: float, like: ArrayOf[A], dtype: str | None = None) -> A: ...
def filled(shape: Sequence[int], value: float, like: AnyArray, dtype: str | None = None) -> Array:
    """A new array with ``value`` everywhere; ``dtype`` as for `empty`."""
    made = empty(shape, like, dtype)
    overwrite(made, value)
    return made


def overwrite(array: Any, value: Array | float) -> None:
    """Put ``value`` everywhere into an array that a package made."""
    array[...] = value


def shape_of(array: object) -> tuple[int, ...]:
    """Of any array that a caller may give, also of JAX; raises `UsageError` for what is no array."""
    return tuple(array.shape) if is_jax(array) else value_of(array).shape


def dtype_of(array: object) -> str:
    """The element type as launch specs call it; of what, and errors, as `shape_of`."""
    if not is_jax(array):
        return value_of(array).dtype
    found = next((name for name, usual in _NAMES.items() if usual == array.dtype.name), None)
    if found is None:
        raise UsageError(f"an array has elements of type '{array.dtype}', which no kernel takes")
    return found


def need(shape: Sequence[int], **arrays: object) -> None:
    """Raises `UsageError` for an array of another shape: kernels keep within their arrays, whatever they are given."""
    for name, array in arrays.items():
        found = shape_of(array)
        if found != tuple(shape):
            raise UsageError(f"`{name}` has the shape {found}, and it takes {tuple(shape)}")


def stream_of(array: object) -> Stream:
    """The stream on which work with the array is ordered; ``None`` on the host."""
    return package_of(array).stream(array)


def processors(array: object) -> int:
    """Blocks that run at once, at least, on the device that holds the array."""
    return package_of(array).processors(array)


def fetched(array: object) -> NumPyArray:
    """What the array holds, as an array of NumPy; on a GPU this waits for the work on it."""
    return package_of(array).fetched(array)


@overload
def contiguous(array: A) -> A: ...
@overload
def contiguous(array: ArrayOf[A]) -> A: ...
def contiguous(array: AnyArray) -> Array:
    """The array, or a copy of it in which the last axis is the fastest, with the strides that a contract expects."""
    value, step, usual = value_of(array), 1, True
    for size, stride in zip(reversed(value.shape), reversed(value.strides), strict=True):
        if stride != step:
            if size != 1:
                packed: Array = package_of(array).packed(array)
                return packed
            usual = False  # as nothing is reached by it, packages leave any stride there
        step *= size
    return as_made(array) if usual else array.reshape((-1,)).reshape(value.shape)


def as_made(array: ArrayOf[A]) -> A:
    """The array itself, which is what its package makes of it, too: a torch parameter is a tensor."""
    return cast(A, array)


# ----------------------------------------------------------------------------------------------- packages
def _numpy(shape: tuple[int, ...], dtype: str, like: NumPyArray) -> NumPyArray:
    import numpy as np

    if dtype not in ("bf16", "f8e4m3", "f8e5m2"):
        return np.empty(shape, _NAMES[dtype])
    import ml_dtypes

    return np.empty(shape, getattr(ml_dtypes, _NAMES[dtype]))


def _numpy_packed(array: NumPyArray) -> NumPyArray:
    import numpy as np

    return np.ascontiguousarray(array)


def _torch(shape: tuple[int, ...], dtype: str, like: TorchTensor) -> TorchTensor:
    torch = sys.modules["torch"]
    made: TorchTensor = torch.empty(shape, dtype=getattr(torch, _NAMES[dtype]), device=like.device)
    return made


def _torch_stream(like: TorchTensor) -> Stream:
    return sys.modules["torch"].cuda.current_stream(like.device) if like.is_cuda else None


@cache
def _multiprocessors(device: Hashable) -> int:
    return int(sys.modules["torch"].cuda.get_device_properties(device).multi_processor_count)


def _cupy(shape: tuple[int, ...], dtype: str, like: CupyArray) -> CupyArray:
    if dtype not in _KNOWN_TO_CUPY:
        raise UsageError(f"CuPy has no arrays with elements of {dtype}: use torch's")
    with like.device:
        made: CupyArray = sys.modules["cupy"].empty(shape, _NAMES[dtype])
        return made


def _cupy_stream(like: CupyArray) -> Stream:
    with like.device:
        stream: Stream = sys.modules["cupy"].cuda.get_current_stream()
        return stream


def _cupy_packed(array: CupyArray) -> CupyArray:
    with array.device:
        packed: CupyArray = sys.modules["cupy"].ascontiguousarray(array)
        return packed


_OF_NUMPY: Final[ArrayPackage[NumPyArray]] = ArrayPackage(
    _numpy, lambda like: None, _numpy_packed, lambda array: array, lambda like: 1
)
_OF_TORCH: Final[ArrayPackage[TorchTensor]] = ArrayPackage(
    _torch,
    _torch_stream,
    lambda array: array.contiguous(),
    lambda array: array.detach().cpu().numpy(),
    lambda like: _multiprocessors(like.device) if like.is_cuda else 1,
)
_OF_CUPY: Final[ArrayPackage[CupyArray]] = ArrayPackage(
    _cupy,
    _cupy_stream,
    _cupy_packed,
    lambda array: array.get(),
    lambda like: int(like.device.attributes["MultiProcessorCount"]),
)
_PACKAGES: Final[dict[str, ArrayPackage[Any]]] = {"numpy": _OF_NUMPY, "torch": _OF_TORCH, "cupy": _OF_CUPY}
