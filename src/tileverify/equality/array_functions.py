"""NumPy's functions on arrays of numbers: those that compute, and those that only move elements.

A rule is asked for what it says that it takes.  Whatever else a program asks of the function ends the attempt with its
name: an argument that is passed over is another function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import exact, formulas, reducing
from .field import Array
from .float_types import is_float
from .primitives import ELEMENTWISE, cast, clip, filled, is_numbers, lifted, plain, triangle, truth
from .reducing import Axis
from .undecided import Undecided

_FREE: Final = frozenset({"order", "subok", "device", "kind", "stable", "optimize", "casting"})
"""What decides how, or where in memory, and not what is computed."""
Shape: TypeAlias = int | Sequence[int] | None
Widths: TypeAlias = int | Sequence[int] | Sequence[tuple[int, int]]


def _where(condition: Array, *values: ArrayLike) -> Array | tuple[Array, ...]:
    chosen = truth(condition)
    return np.where(chosen, lifted(values[0]), lifted(values[1])) if values else np.where(chosen)


def _einsum(*operands: ArrayLike) -> Array:
    text, *arrays = operands
    if not isinstance(text, str):
        raise Undecided("einsum without a string")
    return reducing.einsum(text, [lifted(each) for each in arrays])


def _extended(function: Callable[..., Array], combine: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """A reduction that may start at a number."""

    def call(x: ArrayLike, axis: Axis = None, keepdims: bool = False, initial: ArrayLike | None = None) -> Array:
        found = function(lifted(x), axis, keepdims)
        return found if initial is None else combine(found, lifted(initial))

    return call


def _place(function: Callable[..., Array]) -> Callable[..., Array]:
    def call(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
        return reducing.place_of(lifted(x), axis, keepdims, function)

    return call


def _clip(
    x: ArrayLike,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
) -> Array:
    return clip(x, min if a_min is None else a_min, max if a_max is None else a_max)


def _round(x: ArrayLike, decimals: int = 0) -> Array:
    if decimals:
        raise Undecided("round to decimals of exact numbers")
    return ELEMENTWISE["rint"](lifted(x))


def _full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: Shape = None) -> Array:
    shape = np.shape(x) if shape is None else shape
    if not is_float(dtype):
        return np.full(shape, fill_value, dtype)
    return filled(shape, fill_value)


def _like(value: float) -> Callable[..., Array]:
    def call(x: ArrayLike, dtype: DTypeLike | None = None, shape: Shape = None) -> Array:
        return _full_like(x, value if is_float(dtype) else np.nan_to_num(value), dtype, shape)

    return call


_COPYING: Final = frozenset({"edge", "reflect", "symmetric", "wrap"})
"""Ways to pad by which elements are moved, and nothing is computed."""


def _pad(x: ArrayLike, pad_width: Widths, mode: str = "constant", constant_values: ArrayLike = 0) -> Array:
    array = plain(x)
    if mode in _COPYING:
        places = np.pad(np.arange(array.size).reshape(array.shape), pad_width, mode=mode)  # type: ignore[call-overload]
        return np.asarray(array.reshape(-1)[places])
    if mode != "constant" or np.ndim(constant_values):
        raise Undecided(f"np.pad of exact numbers in the mode {mode}, or by several constants")
    places = np.pad(np.arange(array.size).reshape(array.shape), pad_width, constant_values=-1)
    found = filled(places.shape, constant_values)
    found[places >= 0] = array.reshape(-1)[places[places >= 0]]
    return found


def _triangle(lower: bool) -> Callable[..., Array]:
    """A vector stands for as many rows of itself."""

    def call(x: ArrayLike, k: int = 0) -> Array:
        array = lifted(x)
        return triangle(np.broadcast_to(array, array.shape * 2) if array.ndim == 1 else array, k, lower)

    return call


def _sort(x: ArrayLike, axis: int | None = -1) -> Array:
    array = lifted(x).reshape(-1) if axis is None else lifted(x)
    place = 0 if axis is None else axis
    return np.take_along_axis(array, reducing.ranked(array, place), place)


def _argsort(x: ArrayLike, axis: int | None = -1) -> Array:
    return reducing.ranked(lifted(x).reshape(-1), 0) if axis is None else reducing.ranked(lifted(x), axis)


def _tensordot(x: ArrayLike, b: ArrayLike, axes: int | Sequence[int | Sequence[int]] = 2) -> Array:
    left, right = lifted(x), lifted(b)
    if isinstance(axes, int):
        axes = (list(range(left.ndim - axes, left.ndim)), list(range(axes)))
    first, second = ([each] if isinstance(each, int) else list(each) for each in axes)
    letters = [chr(97 + place) for place in range(left.ndim)]
    others = [chr(97 + left.ndim + place) for place in range(right.ndim)]
    for one, other in zip(first, second, strict=True):
        others[other % right.ndim] = letters[one % left.ndim]
    summed = {letters[one % left.ndim] for one in first}
    kept = [letter for letter in (*letters, *others) if letter not in summed]
    return reducing.einsum(f"{''.join(letters)},{''.join(others)}->{''.join(kept)}", [left, right])


def _norm(x: ArrayLike, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """The root of the sum of squares; of a matrix the one without a name, or Frobenius'."""
    array = lifted(x)
    axes = (array.ndim if ord is None or array.ndim < 3 else 3) if axis is None else np.size(axis)
    if not (ord is None or (ord == 2 and axes == 1) or (ord == "fro" and axes == 2)):
        raise Undecided(f"np.linalg.norm of order {ord}")
    return formulas.sqrt(reducing.total(exact.multiply(array, array), axis, keepdims))


def _dot(x: ArrayLike, b: ArrayLike) -> Array:
    """Sums over the last axis of the first and the last but one of the second."""
    left, right = lifted(x), lifted(b)
    if left.ndim == 0 or right.ndim == 0:
        return exact.multiply(left, right)
    return reducing.matmul(left, right) if right.ndim <= 2 else _tensordot(left, right, (-1, -2))


def _inner(x: ArrayLike, y: ArrayLike) -> Array:
    left, right = lifted(x), lifted(y)
    return exact.multiply(left, right) if left.ndim == 0 or right.ndim == 0 else _tensordot(left, right, (-1, -1))


def _average(x: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, keepdims: bool = False) -> Array:
    if weights is None:
        return reducing.mean(lifted(x), axis, keepdims)
    if np.shape(weights) != np.shape(x):
        raise Undecided("np.average of exact numbers with weights of another shape")
    weighted = exact.multiply(lifted(x), lifted(weights))
    return exact.divide(reducing.total(weighted, axis, keepdims), reducing.total(lifted(weights), axis, keepdims))


def _copyto(target: Array, src: ArrayLike, where: Array | bool = True) -> None:
    if not is_numbers(target):
        raise Undecided("exact numbers in an array of floats that was made before")
    plain(target)[...] = np.where(where, lifted(src), plain(target))


def _put_along_axis(target: Array, indices: Array, values: ArrayLike, axis: int | None) -> None:
    np.put_along_axis(plain(target), indices, lifted(values), axis)


def _nan_to_num(x: ArrayLike, copy: bool = True, nan: ArrayLike = 0.0) -> Array:
    array = lifted(x)
    if np.isinf(exact.certain(array)).any():
        raise Undecided("nan_to_num of an infinity")
    found = np.where(np.isnan(array["s"]), lifted(nan), array)
    if copy:
        return found
    array[...] = found
    return array


def _append(x: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    a, b = lifted(x), lifted(values)
    return np.concatenate([a.reshape(-1), b.reshape(-1)]) if axis is None else np.concatenate([a, b], axis)


def _diff(x: ArrayLike, n: int = 1, axis: int = -1) -> Array:
    lanes = np.moveaxis(lifted(x), axis, 0)
    for _round in range(n):
        lanes = exact.subtract(lanes[1:], lanes[:-1])
    return np.moveaxis(lanes, 0, axis)


FUNCTIONS: Final[dict[object, Callable[..., object]]] = {
    np.where: _where, np.nonzero: lambda x: np.nonzero(truth(x)), np.clip: _clip, np.round: _round,
    np.astype: lambda x, dtype: cast(x, dtype), np.isneginf: lambda x: ELEMENTWISE["isneginf"](plain(x)),
    np.isposinf: lambda x: ELEMENTWISE["isposinf"](plain(x)), np.nan_to_num: _nan_to_num,
    np.sum: _extended(reducing.total, exact.add), np.prod: _extended(reducing.product, exact.multiply),
    **dict.fromkeys((np.max, np.amax), _extended(reducing.largest, formulas.maximum)),
    **dict.fromkeys((np.min, np.amin), _extended(reducing.smallest, formulas.minimum)),
    np.mean: lambda x, axis=None, keepdims=False: reducing.mean(lifted(x), axis, keepdims),
    np.var: lambda x, axis=None, keepdims=False, ddof=0: reducing.variance(lifted(x), axis, keepdims, ddof),
    np.std: lambda x, axis=None, keepdims=False, ddof=0: (
        formulas.sqrt(reducing.variance(lifted(x), axis, keepdims, ddof))
    ),
    np.average: _average, np.linalg.norm: _norm,
    np.any: lambda x, axis=None, keepdims=False: np.asarray(truth(x).any(axis=axis, keepdims=keepdims)),
    np.all: lambda x, axis=None, keepdims=False: np.asarray(truth(x).all(axis=axis, keepdims=keepdims)),
    np.count_nonzero: lambda x, axis=None, keepdims=False: (
        np.asarray(np.count_nonzero(truth(x), axis=axis, keepdims=keepdims))
    ),
    np.cumsum: lambda x, axis=None: reducing.running_total(lifted(x), axis),
    np.cumprod: lambda x, axis=None: reducing.accumulated(lifted(x), axis, exact.multiply), np.diff: _diff,
    np.argmax: _place(reducing.largest), np.argmin: _place(reducing.smallest), np.sort: _sort,
    np.argsort: _argsort, np.einsum: _einsum, np.tensordot: _tensordot, np.dot: _dot, np.inner: _inner,
    np.vdot: lambda x, y: reducing.matmul(lifted(x).reshape(-1), lifted(y).reshape(-1)),
    np.outer: lambda x, b: exact.multiply(lifted(x).reshape(-1, 1), lifted(b).reshape(1, -1)),
    np.pad: _pad, np.tril: _triangle(True), np.triu: _triangle(False), np.append: _append, np.full_like: _full_like,
    np.zeros_like: _like(0), np.ones_like: _like(1), np.empty_like: _like(float("nan")), np.copyto: _copyto,
    np.put_along_axis: _put_along_axis,
}  # fmt: skip
"""Each takes what it knows of by NumPy's names (`asked`)."""

MOVING: Final = frozenset({
    np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.concatenate, np.stack, np.hstack, np.vstack,
    np.dstack, np.column_stack, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.repeat, np.tile, np.take,
    np.take_along_axis, np.roll, np.flip, np.fliplr, np.flipud, np.rot90, np.expand_dims, np.squeeze, np.broadcast_to,
    np.broadcast_arrays, np.ravel, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.copy, np.shape, np.ndim, np.size,
    np.diagonal, np.delete, np.compress, np.may_share_memory, np.shares_memory, np.result_type,
})  # fmt: skip


# ------------------------------------------------------------------------------------------------- calls
@lru_cache(maxsize=256)
def _signature(function: Callable[..., object]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # before NumPy 2.4 those written in C have none
        return None


def asked(
    function: Callable[..., object], rule: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Sequence[object], dict[str, object], Array | None]:
    """Positional arguments and those by name, as ``rule`` takes them, and ``out``.

    The first is positional, all others have NumPy's names; what has its default value is left out.

    :raises Undecided: the rule does not take one of them.
    """
    places, named = _bound(function, args, kwargs)
    out: Array | None = named.pop("out", None)
    taken = inspect.signature(rule).parameters
    for name in [each for each in named if each not in taken]:
        value = named.pop(name)
        if name not in _FREE and not (name == "dtype" and is_float(value)):
            raise Undecided(f"np.{function.__name__} of exact numbers with {name}=")
    return places, named, out


def _bound(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[Sequence[object], dict[str, Any]]:
    signature = _signature(function)
    if signature is None:
        return args, dict(kwargs)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise Undecided(f"np.{function.__name__}: {error}") from None
    places: list[object] = []
    named: dict[str, Any] = {}
    for number, (name, value) in enumerate(bound.arguments.items()):
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            places += value
        elif parameter.kind is parameter.POSITIONAL_ONLY or number == 0:
            places.append(value)
        elif value is not parameter.default:
            named[name] = value
    return places, named
