"""Arrays of NumPy, torch and CuPy: what a host function asks of those that it is given, and makes beside them.

Those of JAX are lent to a host function as arrays of one of these: see `jax_arrays`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from math import prod
from typing import Any, Final, Generic, ParamSpec, Protocol, Self, TypeAlias, TypeGuard, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from ..backend.guard.arguments import ArrayValue, array_value
from ..launching.launch_types import Stream
from ..system.errors import UsageError

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


# ---------------------------------------------------------------------------------------------------------- array types
# Arrays of any package, as type checkers see them: what host functions ask of those that they are given.
#
# A host function that takes an ``x: ArrayOf[A]`` and gives an ``A`` gives what ``x`` is: a tensor for a tensor, and for
# a parameter of a torch module, too; an array of JAX for one of JAX; and an array of NumPy with the elements of ``x``
# and any number of axes.  Where the elements are others, NumPy has an overload of its own.


NumPyArray: TypeAlias = NDArray[np.generic]
Float32s: TypeAlias = NDArray[np.float32]
Int32s: TypeAlias = NDArray[np.int32]


class Array(Protocol):
    """What a package makes: an operation on it gives another one."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def T(self) -> Self: ...  # noqa: N802 (as packages call it)

    def reshape(self, shape: tuple[int, ...], /) -> Self: ...

    def swapaxes(self, one: int, other: int, /) -> Self: ...

    def __getitem__(self, rows: slice, /) -> Self: ...


A = TypeVar("A", bound=Array)
B = TypeVar("B", bound=Array)
A_co = TypeVar("A_co", bound=Array, covariant=True)


class ArrayOf(Protocol[A_co]):
    """What a caller gives: of a package whose operations make an ``A`` of it."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def reshape(self, shape: tuple[int, ...], /) -> A_co: ...


AnyArray: TypeAlias = ArrayOf[Array]
"""Of any package."""


# ----------------------------------------------------------------------------------------------- packages
class TorchTensor(Protocol):
    @property
    def device(self) -> Hashable: ...

    @property
    def is_cuda(self) -> bool: ...

    def contiguous(self) -> Self: ...

    def detach(self) -> Self: ...

    def cpu(self) -> Self: ...

    def numpy(self) -> NumPyArray: ...


class CupyDevice(Protocol):
    """Within it, arrays are made there."""

    @property
    def attributes(self) -> dict[str, int]: ...

    def __enter__(self) -> object: ...

    def __exit__(self, *error: object) -> None: ...


class CupyArray(Protocol):
    @property
    def device(self) -> CupyDevice: ...

    def get(self) -> NumPyArray: ...


class JaxType(Protocol):
    @property
    def name(self) -> str: ...


class JaxDevice(Protocol):
    @property
    def platform(self) -> str: ...


class JaxArray(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> JaxType: ...

    def devices(self) -> set[JaxDevice]: ...


# ----------------------------------------------------------------------------------------------------------- jax arrays
# Arrays of JAX, which nobody may write: a host function works on arrays of another package that share their memory.
#
# On the host these are NumPy's, on a GPU torch's or CuPy's, exchanged by DLPack, which also puts the work of both in
# order.  What a host function made goes back the same way, without a copy.  Where JAX traces a function, as for
# `jax.jit` or `jax.vmap`, its arrays have no memory yet, and nothing can be launched.


P = ParamSpec("P")
R = TypeVar("R")


def is_jax(array: object) -> TypeGuard[JaxArray]:
    """Also for an array that JAX traces."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.Array)


def takes_jax(function: Callable[P, R]) -> Callable[P, R]:
    """A host function of other arrays as one of JAX's, too; the results are JAX's if an argument is."""

    @wraps(function)
    def taking(*arguments: P.args, **named: P.kwargs) -> R:
        if not any(map(_has_jax, (*arguments, *named.values()))):
            return function(*arguments, **named)
        lent = {name: borrowed(value) for name, value in named.items()}
        found: R = handed_back(function(*map(borrowed, arguments), **lent))
        return found

    return taking


def differentiable(
    forward: Callable[..., tuple[object, Sequence[object]]], backward: Callable[..., Sequence[object]], count: int
) -> Callable[..., Any]:
    """A function of ``count`` arrays of JAX; ``forward`` and ``backward`` as for `gradients.with_gradient`."""
    import jax

    def ahead(*arrays: object) -> tuple[object, object]:
        out, saved = handed_back(forward(*map(borrowed, arrays)))
        return out, saved

    def back(saved: object, dout: object) -> tuple[object, ...]:
        return tuple(handed_back(backward(borrowed(saved), borrowed(dout), (True,) * count)))

    called: Callable[..., Any] = jax.custom_vjp(lambda *arrays: ahead(*arrays)[0])
    called.defvjp(ahead, back)  # type: ignore[attr-defined]
    return called


# ----------------------------------------------------------------------------------------------- exchange
def borrowed(value: object) -> Any:
    """Arrays of JAX as others on the same memory, in lists and tuples too; anything else as it is.

    Raises `UsageError` for an array that is traced, lies on several devices, or on a GPU where neither torch nor CuPy
    is installed.
    """
    if isinstance(value, list | tuple):
        return _each(borrowed, value)
    if not is_jax(value):
        return value
    import jax

    if isinstance(value, jax.core.Tracer):
        raise UsageError(
            "an array that JAX traces has no memory to launch a kernel on: "
            "call functions of tileverify.kernels outside of jax.jit, jax.vmap and the like"
        )
    if len(value.devices()) != 1:
        raise UsageError("an array of JAX lies on several devices: launch on the parts that each of them holds")
    if next(iter(value.devices())).platform == "cpu":
        import numpy

        return numpy.asarray(value)
    return _exchange().from_dlpack(value)


def handed_back(value: object) -> Any:
    """Arrays that a host function made, or borrowed, as JAX's, in lists and tuples too."""
    if isinstance(value, list | tuple):
        return _each(handed_back, value)
    if not hasattr(value, "__dlpack__"):
        return value
    import jax
    import numpy

    return jax.numpy.asarray(value) if isinstance(value, numpy.ndarray) else jax.dlpack.from_dlpack(value)


def _has_jax(value: object) -> bool:
    return any(map(is_jax, value)) if isinstance(value, list | tuple) else is_jax(value)


def _each(function: Callable[[object], object], values: Any) -> object:
    """The list, tuple or named tuple of what comes of each."""
    found = map(function, values)
    return type(values)(*found) if hasattr(values, "_fields") else type(values)(found)


@cache
def _exchange() -> Any:
    """The package that makes the results for JAX's arrays on a GPU."""
    if find_spec("torch") is not None and (torch := import_module("torch")).cuda.is_available():
        return torch
    if find_spec("cupy") is not None:
        return import_module("cupy")
    raise UsageError("arrays of JAX on a GPU need torch or CuPy beside it, which make the arrays of the results")


# ---------------------------------------------------------------------------------------------------------------- needs
# What host functions ask of arrays beside their shapes; each raises `UsageError` with the name of the argument.


def need_axes(form: str, **arrays: object) -> None:
    """Arrays with as many axes as ``form`` has, as in ``"(M, N)"``, or at least so many, as in ``"(..., M, N)"``."""
    named = [each for each in form.strip("()").replace(" ", "").split(",") if each]
    any_more = "..." in named
    least = len(named) - any_more
    for name, array in arrays.items():
        shape = shape_of(array)
        if len(shape) < least or (len(shape) > least and not any_more):
            raise UsageError(f"`{name}` has the shape {shape}, and it takes {form}")


def need_type(*dtypes: str, **arrays: object) -> None:
    """Arrays of one of these element types, as launch specs call them."""
    for name, array in arrays.items():
        found = dtype_of(array)
        if found not in dtypes:
            raise UsageError(f"`{name}` has elements of {found}, and it takes {' or '.join(dtypes)}")


def need_packed(**arrays: object) -> None:
    """Arrays that are written where they are: in one piece, with the last axis the fastest."""
    for name, array in arrays.items():
        value, step = value_of(array), 1
        for size, stride in zip(reversed(value.shape), reversed(value.strides), strict=True):
            if 0 not in value.shape and size != 1 and stride != step:
                raise UsageError(f"`{name}` is written where it is, and its elements do not lie side by side")
            step *= size


def need_writable(**arrays: object) -> None:
    """Arrays of a package that lets others write them."""
    for name, array in arrays.items():
        if is_jax(array):
            raise UsageError(f"`{name}` is written where it is, and nobody may write arrays of JAX")


def need_number(name: str, value: float, low: float, high: float) -> None:
    """A number from ``low`` to ``high``, both included."""
    if not low <= value <= high:
        raise UsageError(f"`{name}` is {value}, and it takes {low} to {high}")


# ----------------------------------------------------------------------------------------------------------------- rows
# Arrays as rows along their last axis, and the tiles in which kernels walk through rows.


SHORT: Final = (4, 1024)
"""Rows and columns of a tile that holds rows whole."""

LONG: Final = (1, 2048)
"""The same of tiles that rows are walked through in."""

WHOLE: Final = (
    ("_short", SHORT, 1024), ("_short", (2, 2048), 2048), ("_short", (1, 4096), 4096), ("_row", (1, 8192), 8192),
    ("_three", (1, 4096), 12288), ("_row", (1, 16384), 16384),
)  # fmt: skip
"""Ends of the names of kernels that hold rows whole, their tiles, and the longest row of each, in this order."""


@overload
def as_rows(x: A) -> A: ...
@overload
def as_rows(x: ArrayOf[A]) -> A: ...
def as_rows(x: AnyArray) -> Array:
    """x (..., N) as (M, N), packed."""
    return contiguous(x).reshape((prod(x.shape[:-1]), x.shape[-1]))


def any_of(rows: AnyArray) -> bool:
    """Whether there is any element."""
    return 0 not in rows.shape


def blocks(rows: AnyArray, tile: tuple[int, int]) -> tuple[int, ...]:
    """A block for each tile of rows."""
    return (-(-rows.shape[0] // tile[0]),)


def holding(rows: AnyArray) -> tuple[str, tuple[int, int]]:
    """The end of a kernel's name and its tile: the first that takes rows whole, or parts of them where none does."""
    return next(((end, tile) for end, tile, most in WHOLE if rows.shape[1] <= most), ("", LONG))
