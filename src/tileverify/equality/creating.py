"""NumPy as a reference sees it while it runs on exact numbers.

``np.zeros(shape)`` asks no array how it would be made, so nothing could be stored there later.  In the reference's
module the name of NumPy therefore stands for a copy whose functions that make arrays of floats make `Numbers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import exact
from .exact_arrays import presented
from .field import Array
from .float_types import float_type, is_float
from .primitives import filled, is_numbers, lifted
from .undecided import Undecided


def _filled(value: float) -> Callable[..., Array]:
    """``zeros``, ``ones``, and ``empty``: NaN, so that nothing that was not written is equal to what a kernel wrote."""

    def make(shape: int | Sequence[int], dtype: DTypeLike | None = None, *args: object, **kwargs: object) -> Array:
        if is_float(dtype):
            return presented(filled(shape, value), float_type(dtype))
        return np.full(shape, 0 if np.isnan(value) else value, dtype)

    return make


def _full(shape: int | Sequence[int], fill_value: ArrayLike, dtype: DTypeLike | None = None, **_: object) -> Array:
    if is_float(dtype) and (dtype is not None or is_numbers(fill_value) or isinstance(fill_value, float)):
        return presented(filled(shape, fill_value))
    return np.full(shape, fill_value, dtype)


def _eye(*args: int, dtype: DTypeLike | None = None, **kwargs: Any) -> Array:
    made: Array = np.eye(*args, dtype=np.int64 if is_float(dtype) else np.dtype(dtype), **kwargs)
    return presented(lifted(made)) if is_float(dtype) else made


def _array(value: ArrayLike, dtype: DTypeLike | None = None, *args: Any, **kwargs: Any) -> Array:
    if not (is_numbers(value) or (isinstance(value, list | tuple) and any(map(is_numbers, value)))):
        return np.array(value, dtype, *args, **kwargs)
    if args or not kwargs.keys() <= _FREE:
        raise Undecided("np.array of exact numbers with further arguments")
    made = presented(exact.copied(lifted(value)))
    return made if dtype is None else made.astype(dtype)


_FREE = frozenset({"copy", "order", "subok"})


def _as_array(value: ArrayLike, dtype: DTypeLike | None = None, *args: Any, **kwargs: Any) -> Array:
    """Numbers as they are, so that what is written to them is seen."""
    return value if is_numbers(value) and dtype is None else _array(value, dtype, *args, **kwargs)


def _contiguous(value: ArrayLike, dtype: DTypeLike | None = None) -> Array:
    in_order = is_numbers(value) and value.flags.c_contiguous
    return _as_array(value, dtype) if in_order else _array(value, dtype)


class _Numpy(ModuleType):
    """NumPy, but for what makes arrays."""

    def __getattr__(self, name: str) -> object:
        return getattr(np, name)


def numpy_of_numbers() -> _Numpy:
    module = _Numpy("numpy")
    for name, function in {
        "zeros": _filled(0), "empty": _filled(float("nan")), "ones": _filled(1), "full": _full, "eye": _eye,
        "identity": _eye, "array": _array, "asarray": _as_array, "ascontiguousarray": _contiguous,
    }.items():  # fmt: skip
        setattr(module, name, function)
    return module


def numpy_in_float64() -> _Numpy:
    """NumPy whose other types of floats are float64, too."""
    module = _Numpy("numpy")
    for name in ("float16", "half", "float32", "single", "longdouble"):
        setattr(module, name, np.float64)
    return module


def exact_numpy(function: Callable[..., object]) -> AbstractContextManager[None]:
    """While it is open, NumPy makes such arrays in the module of ``function``, and in those whose functions it uses."""
    return numpy_instead(function, numpy_of_numbers())


@contextmanager
def numpy_instead(function: Callable[..., object], numpy: ModuleType) -> Iterator[None]:
    """While it is open, ``numpy`` is what NumPy's name stands for in these modules."""
    replaced = []
    for names in _namespaces(function):
        own = {name: value for name, value in names.items() if value is np}
        replaced.append((names, own))
        names.update(dict.fromkeys(own, numpy))
    try:
        yield
    finally:
        for names, own in replaced:
            names.update(own)


def _namespaces(function: Callable[..., object]) -> list[dict[str, object]]:
    """Of the function's module, and of every module of Python code that a function there comes from.

    What computes with the numbers is none of them, though a reference's module may have imported functions of ours.
    """
    found: list[dict[str, object]] = []
    waiting = [getattr(function, "__globals__", {})]
    own = _room(waiting[0])
    while waiting:
        names = waiting.pop()
        room = _room(names)
        if any(names is known for known in found) or room[:1] == ["numpy"] or (room[:1] == _OURS and room != own):
            continue
        found.append(names)
        waiting += [value.__globals__ for value in list(names.values()) if isinstance(value, FunctionType)]
    return [names for names in found if any(value is np for value in names.values())]


_OURS = __name__.split(".")[:1]


def _room(names: dict[str, object]) -> list[str]:
    """The first two names of a module."""
    return str(names.get("__name__", "")).split(".")[:2]
