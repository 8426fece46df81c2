"""NumPy's functions on arrays of numbers: those that compute, and those that only move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import exact, formulas, reducing
from .exact_arrays import cast, clipped, is_numbers, lifted, plain, presented
from .field import Array
from .reducing import Axis
from .undecided import Undecided

Shape: TypeAlias = int | Sequence[int] | None
Widths: TypeAlias = int | Sequence[int] | Sequence[tuple[int, int]]


def _where(condition: Array, *values: ArrayLike) -> Array | tuple[Array, ...]:
    chosen = condition != 0 if is_numbers(condition) else condition
    return np.where(chosen, lifted(values[0]), lifted(values[1])) if values else np.where(chosen)


def _einsum(text: object, *operands: ArrayLike, **_: object) -> Array:
    if not isinstance(text, str):
        raise Undecided("einsum without a string")
    return reducing.einsum(text, [lifted(each) for each in operands])


def _method(name: str) -> Callable[..., object]:
    def call(x: ArrayLike, *args: object, **kwargs: object) -> object:
        return getattr(presented(lifted(x)), name)(*args, **kwargs)

    return call


def _full_like(
    x: ArrayLike, value: ArrayLike, *, dtype: DTypeLike | None = None, shape: Shape = None, **_: object
) -> Array:  # fmt: skip
    shape = shape or np.shape(x)
    if dtype is not None and np.dtype(dtype).kind not in "fV":
        return np.full(shape, value, dtype)
    return np.broadcast_to(lifted(value), shape).copy()


def _zeros_like(x: ArrayLike, dtype: DTypeLike | None = None, *, shape: Shape = None, **_: object) -> Array:
    return _full_like(x, 0, dtype=dtype, shape=shape)


def _ones_like(x: ArrayLike, dtype: DTypeLike | None = None, *, shape: Shape = None, **_: object) -> Array:
    return _full_like(x, 1, dtype=dtype, shape=shape)


def _pad(
    x: ArrayLike,
    width: int | Sequence[int] | Sequence[tuple[int, int]],
    mode: str = "constant",
    constant_values: ArrayLike = 0,
    **_: object,
) -> Array:
    array = plain(x)
    if mode != "constant":
        places = np.pad(np.arange(array.size).reshape(array.shape), width, mode=mode)  # type: ignore[call-overload]
        return np.asarray(array.reshape(-1)[places])
    places = np.pad(np.arange(array.size).reshape(array.shape), width, constant_values=-1)
    found = np.broadcast_to(lifted(constant_values), places.shape).copy()
    found[places >= 0] = array.reshape(-1)[places[places >= 0]]
    return found


def _triangle(lower: bool) -> Callable[..., Array]:
    def call(x: ArrayLike, k: int = 0) -> Array:
        array = lifted(x)
        rows, columns = array.shape[-2:]
        kept = np.tri(rows, columns, k if lower else k - 1, dtype=np.bool_)
        return np.where(kept if lower else ~kept, array, np.zeros((), array.dtype))

    return call


def _sort(x: ArrayLike, axis: int | None = -1, **_: object) -> Array:
    array = lifted(x)
    return np.take_along_axis(array, reducing.ranked(array, -1 if axis is None else axis), -1 if axis is None else axis)


def _tensordot(x: ArrayLike, y: ArrayLike, axes: int | Sequence[int | Sequence[int]] = 2) -> Array:
    a, b = lifted(x), lifted(y)
    if isinstance(axes, int):
        axes = (list(range(a.ndim - axes, a.ndim)), list(range(axes)))
    first, second = ([each] if isinstance(each, int) else list(each) for each in axes)
    letters = [chr(97 + place) for place in range(a.ndim)]
    others = [chr(97 + a.ndim + place) for place in range(b.ndim)]
    for one, other in zip(first, second, strict=True):
        others[other % b.ndim] = letters[one % a.ndim]
    summed = {letters[one % a.ndim] for one in first}
    kept = [letter for letter in (*letters, *others) if letter not in summed]
    return reducing.einsum(f"{''.join(letters)},{''.join(others)}->{''.join(kept)}", [a, b])


def _norm(x: ArrayLike, ord: float | None = None, axis: Axis = None, keepdims: bool = False) -> Array:
    if ord not in (None, 2):
        raise Undecided(f"np.linalg.norm of order {ord}")
    array = lifted(x)
    return formulas.sqrt(reducing.total(exact.multiply(array, array), axis, keepdims))


def _dot(x: ArrayLike, y: ArrayLike, out: object = None) -> Array:
    a, b = lifted(x), lifted(y)
    return exact.multiply(a, b) if a.ndim == 0 or b.ndim == 0 else reducing.matmul(a, b)


def _outer(x: ArrayLike, y: ArrayLike, out: object = None) -> Array:
    return exact.multiply(lifted(x).reshape(-1, 1), lifted(y).reshape(1, -1))


def _average(x: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, **_: object) -> Array:
    if weights is None:
        return reducing.mean(lifted(x), axis)
    weighted = exact.multiply(lifted(x), lifted(weights))
    return exact.divide(reducing.total(weighted, axis), reducing.total(lifted(weights), axis))


def _copyto(target: Array, source: ArrayLike, where: Array | bool = True, **_: object) -> None:
    if not is_numbers(target):
        raise Undecided("exact numbers in an array of floats that was made before")
    plain(target)[...] = np.where(where, lifted(source), plain(target))


def _put_along_axis(target: Array, places: Array, values: ArrayLike, axis: int) -> None:
    np.put_along_axis(plain(target), places, lifted(values), axis)


def _nan_to_num(
    x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    array = lifted(x)
    if np.isinf(exact.certain(array)).any():
        raise Undecided("nan_to_num of an infinity")
    return np.where(np.isnan(array["s"]), lifted(nan), array)


def _append(x: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    a, b = lifted(x), lifted(values)
    return np.concatenate([a.reshape(-1), b.reshape(-1)]) if axis is None else np.concatenate([a, b], axis)


def _diff(x: ArrayLike, n: int = 1, axis: int = -1, **_: object) -> Array:
    lanes = np.moveaxis(lifted(x), axis, 0)
    for _round in range(n):
        lanes = exact.subtract(lanes[1:], lanes[:-1])
    return np.moveaxis(lanes, 0, axis)


FUNCTIONS: Final[dict[object, Callable[..., object]]] = {
    np.where: _where, np.einsum: _einsum, np.sum: _method("sum"), np.mean: _method("mean"), np.var: _method("var"),
    np.std: _method("std"), np.max: _method("max"), np.min: _method("min"), np.amax: _method("max"),
    np.amin: _method("min"), np.prod: _method("prod"), np.cumsum: _method("cumsum"), np.argmax: _method("argmax"),
    np.argmin: _method("argmin"), np.argsort: _method("argsort"), np.sort: _sort, np.any: _method("any"),
    np.all: _method("all"), np.clip: clipped, np.round: _method("round"), np.dot: _dot, np.vdot: _dot, np.inner: _dot,
    np.outer: _outer, np.tensordot: _tensordot, np.linalg.norm: _norm, np.pad: _pad, np.full_like: _full_like,
    np.zeros_like: _zeros_like, np.empty_like: _zeros_like, np.ones_like: _ones_like, np.tril: _triangle(True),
    np.triu: _triangle(False), np.average: _average, np.copyto: _copyto, np.put_along_axis: _put_along_axis,
    np.nan_to_num: _nan_to_num, np.diff: _diff, np.append: _append, np.nonzero: _method("nonzero"),
    np.count_nonzero: lambda x, **options: np.count_nonzero(x != 0, **options),
    np.cumprod: lambda x, axis=None, **_: reducing.accumulated(lifted(x), axis, exact.multiply),
    np.astype: cast, np.isneginf: lambda x: np.isneginf(exact.certain(plain(x))),
    np.isposinf: lambda x: np.isposinf(exact.certain(plain(x))),
}  # fmt: skip
MOVING: Final = frozenset({
    np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.concatenate, np.stack, np.hstack, np.vstack,
    np.dstack, np.column_stack, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.repeat, np.tile, np.take,
    np.take_along_axis, np.roll, np.flip, np.fliplr, np.flipud, np.rot90, np.expand_dims, np.squeeze, np.broadcast_to,
    np.broadcast_arrays, np.ravel, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.copy, np.shape, np.ndim, np.size,
    np.diagonal, np.delete, np.compress, np.may_share_memory,
    np.shares_memory, np.result_type,
})  # fmt: skip
