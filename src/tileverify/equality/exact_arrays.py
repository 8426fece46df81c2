"""`Numbers`: arrays of numbers that NumPy code takes for arrays of floats.

What NumPy does to such an array is looked up by name, functions here and methods in `array_functions`; what has no rule
raises `Undecided` with its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import exact, formulas, primitives
from .exact import NUMBER
from .field import Array, Undecided
from .primitives import (
    ELEMENTWISE,
    REDUCTIONS,
    UNKNOWN,
    Axis,
    FloatType,
    Index,
    Part,
    cast,
    clip,
    combine_at,
    filled,
    float_type,
    is_float,
    is_numbers,
    joint,
    lifted,
    plain,
    triangle,
    truth,
)

T = TypeVar("T")


class Numbers(np.ndarray):
    """An array of elements of type `NUMBER`.  ``floats``: the type of those that it stands for; rounding is no part of
    real arithmetic, but a reference may ask."""

    floats: FloatType = UNKNOWN

    def __array_finalize__(self, whole: object) -> None:
        self.floats = getattr(whole, "floats", UNKNOWN)

    @property
    def dtype(self) -> Any:
        return self.floats

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: ArrayLike, **options: Any) -> Array | None:
        out = options.pop("out", None)
        where = options.pop("where", True)
        asked_for = options.pop("dtype", None)
        if not is_float(asked_for):
            raise Undecided(f"{ufunc.__name__} of exact numbers as integers")
        options = {name: value for name, value in options.items() if name not in ("casting", "order", "subok")}
        if where is not True and (out is None or method != "__call__"):
            raise Undecided(f"{ufunc.__name__} with where= and without out=")
        if method not in _METHODS:
            _unknown(f"{ufunc.__name__}.{method}")
        result = _METHODS[method](ufunc, *inputs, **options)
        if out is not None:
            return _written(out[0], result, where, ufunc.__name__)
        return presented(result, float_type(asked_for) if asked_for is not None else joint(map(_float_type, inputs)))

    def __array_function__(
        self, func: Callable[..., object], types: Iterable[type], args: Iterable[object], kwargs: Mapping[str, object]
    ) -> object:
        rule = FUNCTIONS.get(func)
        if rule is not None:
            places, named, out = asked(func, rule, tuple(args), kwargs)
            result = rule(*places, **named)
            return presented(result) if out is None else _written(out, result, True, func.__name__)
        if func in MOVING:
            return presented(func(*map(_moved, args), **{name: _moved(value) for name, value in kwargs.items()}))
        raise Undecided(f"np.{func.__name__} of exact numbers")

    def __eq__(self, other: object) -> Array:
        found: Array = np.equal(self, other)  # type: ignore[call-overload]
        return found

    def __ne__(self, other: object) -> Array:
        found: Array = np.not_equal(self, other)  # type: ignore[call-overload]
        return found

    __hash__ = None

    # ------------------------------------------------------------------------------------------ elements
    def __getitem__(self, place: Index) -> Array:
        found = plain(self)[_index(place)]
        return presented(found if isinstance(found, np.ndarray) else np.asarray(found, NUMBER), self.floats)

    def __setitem__(self, place: Index, value: ArrayLike) -> None:
        plain(self)[_index(place)] = lifted(value)

    def __iter__(self) -> Iterator[Array]:
        return (self[place] for place in range(len(self)))

    def _one_number(self, *_: object) -> NoReturn:
        raise Undecided("an exact number as a number of Python")

    __float__ = __int__ = __bool__ = __index__ = __complex__ = item = tolist = _one_number

    # ------------------------------------------------------------------------------------------- methods
    def astype(self, dtype: DTypeLike, *_: object, **__: object) -> Array:
        return presented(cast(self, dtype), float_type(dtype))

    def fill(self, value: ArrayLike) -> None:
        self[...] = value

    def __repr__(self) -> str:
        return repr(plain(self)["s"])


class FloatNumber(Numbers):
    """A float scalar of a launch: `isinstance` says that it is a float of Python."""

    @property  # type: ignore[misc]
    def __class__(self) -> type[float]:
        return float


def _unknown(what: str) -> NoReturn:
    raise Undecided(f"{what} of exact numbers")


def _as_function(name: str) -> Callable[..., object]:
    """A method that is the function of its name."""
    return lambda self, *args, **kwargs: getattr(np, name)(self, *args, **kwargs)


def _without_rule(name: str) -> Callable[..., NoReturn]:
    return lambda self, *_, **__: _unknown(name)


for _name in (
    "sum", "mean", "var", "std", "max", "min", "prod", "cumsum", "cumprod", "argmax", "argmin", "argsort", "dot",
    "clip", "round", "any", "all", "nonzero", "trace", "searchsorted", "choose", "ptp",
):  # fmt: skip
    setattr(Numbers, _name, _as_function(_name))
for _name in (
    "sort", "partition", "argpartition", "put", "view", "byteswap", "tobytes", "tofile", "dump", "dumps", "getfield",
    "setfield", "newbyteorder", "itemset", "tostring", "conj", "conjugate",
):  # fmt: skip
    setattr(Numbers, _name, _without_rule(_name))
for _name in ("flat", "itemsize", "nbytes", "strides", "data", "real", "imag"):
    setattr(Numbers, _name, property(_without_rule(_name), _without_rule(_name)))


def _index(place: Index) -> Index:
    return tuple(map(_part, place)) if isinstance(place, tuple) else _part(place)


def _part(place: Part) -> Part:
    if is_numbers(place):
        raise Undecided("an exact number as an index")
    return place


def _written(target: Any, result: Any, where: Array | bool, name: str) -> Array:
    """``target`` after a function wrote its result there."""
    if is_numbers(target):
        plain(target)[...] = lifted(result) if where is True else np.where(where, lifted(result), plain(target))
    elif is_numbers(result) or where is not True:
        raise Undecided(f"{name} into an array that was made before")
    else:
        target[...] = result
    found: Array = target
    return found


def _moved(value: object) -> object:
    if isinstance(value, Numbers):
        return plain(value)
    if isinstance(value, list | tuple) and any(is_numbers(each) for each in value):
        return type(value)(lifted(each) for each in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return lifted(value)
    return value


def _float_type(operand: ArrayLike) -> FloatType | ArrayLike:
    return operand.floats if isinstance(operand, Numbers) else operand


def presented(result: T, floats: FloatType = UNKNOWN) -> T:
    """Arrays of numbers with their class, inside of tuples and lists, too."""
    shown: Any = result
    if is_numbers(result):
        shown = np.ndarray.view(result, Numbers)
        shown.floats = floats
    elif isinstance(result, np.void) and result.dtype == NUMBER:  # an element, which NumPy has as an object of its own
        shown = np.asarray(result).view(Numbers)
    elif isinstance(result, tuple | list) and any(is_numbers(each) for each in result):
        shown = type(result)(map(presented, result))
    found: T = shown
    return found


# ------------------------------------------------------------------------------------------------- ufuncs
def _elementwise(ufunc: np.ufunc, what: str) -> Callable[..., Array]:
    """What the ufunc, if it is NumPy's own, does to numbers.

    :raises Undecided: no primitive has its name.
    """
    found = ELEMENTWISE.get(ufunc.__name__) if getattr(np, ufunc.__name__, None) is ufunc else None
    return found or _unknown(what)


def _call(ufunc: np.ufunc, *inputs: ArrayLike, **options: object) -> Array:
    if options:
        _unknown(f"{ufunc.__name__} with {', '.join(options)}")
    return _elementwise(ufunc, ufunc.__name__)(*map(lifted, inputs))


def _reduce(
    ufunc: np.ufunc, x: ArrayLike, axis: Axis = 0, keepdims: bool = False, initial: ArrayLike | None = None
) -> Array:
    combine = _elementwise(ufunc, f"{ufunc.__name__}.reduce")
    if ufunc.__name__ not in REDUCTIONS:
        return _unknown(f"{ufunc.__name__}.reduce")
    found = REDUCTIONS[ufunc.__name__](lifted(x), axis, keepdims)
    return found if initial is None else combine(found, lifted(initial))


def _accumulate(ufunc: np.ufunc, x: ArrayLike, axis: int = 0) -> Array:
    combine = _elementwise(ufunc, ufunc.__name__)
    if ufunc is np.add:
        return primitives.running_total(lifted(x), axis)
    return (
        primitives.accumulated(lifted(x), axis, combine) if ufunc.__name__ in REDUCTIONS else _unknown(ufunc.__name__)
    )


def _outer(ufunc: np.ufunc, x: ArrayLike, y: ArrayLike) -> Array:
    a, b = lifted(x), lifted(y)
    return _elementwise(ufunc, f"{ufunc.__name__}.outer")(a.reshape(a.shape + (1,) * b.ndim), b)


def _at(ufunc: np.ufunc, x: ArrayLike, place: Index, *values: ArrayLike) -> None:
    target = plain(x)
    touched = np.arange(target.size).reshape(target.shape)[_index(place)]
    given = np.broadcast_to(lifted(values[0]), touched.shape)
    combine_at(target, touched.reshape(-1), given.reshape(-1), _elementwise(ufunc, f"{ufunc.__name__}.at"))


_METHODS: Final[dict[str, Callable[..., Array | None]]] = {
    "__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "outer": _outer, "at": _at,
}  # fmt: skip


# ------------------------------------------------------------------------------------------------------ array functions
# NumPy's functions on arrays of numbers: those that compute, and those that only move elements.
#
# A rule is asked for what it says that it takes.  Whatever else a program asks of the function ends the attempt with
# its name: an argument that is passed over is another function.


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
    return primitives.einsum(text, [lifted(each) for each in arrays])


def _extended(function: Callable[..., Array], combine: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """A reduction that may start at a number."""

    def call(x: ArrayLike, axis: Axis = None, keepdims: bool = False, initial: ArrayLike | None = None) -> Array:
        found = function(lifted(x), axis, keepdims)
        return found if initial is None else combine(found, lifted(initial))

    return call


def _place(function: Callable[..., Array]) -> Callable[..., Array]:
    def call(x: ArrayLike, axis: int | None = None, keepdims: bool = False) -> Array:
        return primitives.place_of(lifted(x), axis, keepdims, function)

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
    return np.take_along_axis(array, primitives.ranked(array, place), place)


def _argsort(x: ArrayLike, axis: int | None = -1) -> Array:
    return primitives.ranked(lifted(x).reshape(-1), 0) if axis is None else primitives.ranked(lifted(x), axis)


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
    return primitives.einsum(f"{''.join(letters)},{''.join(others)}->{''.join(kept)}", [left, right])


def _norm(x: ArrayLike, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """The root of the sum of squares; of a matrix the one without a name, or Frobenius'."""
    array = lifted(x)
    axes = (array.ndim if ord is None or array.ndim < 3 else 3) if axis is None else np.size(axis)
    if not (ord is None or (ord == 2 and axes == 1) or (ord == "fro" and axes == 2)):
        raise Undecided(f"np.linalg.norm of order {ord}")
    return formulas.sqrt(primitives.total(exact.multiply(array, array), axis, keepdims))


def _dot(x: ArrayLike, b: ArrayLike) -> Array:
    """Sums over the last axis of the first and the last but one of the second."""
    left, right = lifted(x), lifted(b)
    if left.ndim == 0 or right.ndim == 0:
        return exact.multiply(left, right)
    return primitives.matmul(left, right) if right.ndim <= 2 else _tensordot(left, right, (-1, -2))


def _inner(x: ArrayLike, y: ArrayLike) -> Array:
    left, right = lifted(x), lifted(y)
    return exact.multiply(left, right) if left.ndim == 0 or right.ndim == 0 else _tensordot(left, right, (-1, -1))


def _average(x: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, keepdims: bool = False) -> Array:
    if weights is None:
        return primitives.mean(lifted(x), axis, keepdims)
    if np.shape(weights) != np.shape(x):
        raise Undecided("np.average of exact numbers with weights of another shape")
    weighted = exact.multiply(lifted(x), lifted(weights))
    return exact.divide(primitives.total(weighted, axis, keepdims), primitives.total(lifted(weights), axis, keepdims))


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
    np.sum: _extended(primitives.total, exact.add), np.prod: _extended(primitives.product, exact.multiply),
    **dict.fromkeys((np.max, np.amax), _extended(primitives.largest, formulas.maximum)),
    **dict.fromkeys((np.min, np.amin), _extended(primitives.smallest, formulas.minimum)),
    np.mean: lambda x, axis=None, keepdims=False: primitives.mean(lifted(x), axis, keepdims),
    np.var: lambda x, axis=None, keepdims=False, ddof=0: primitives.variance(lifted(x), axis, keepdims, ddof),
    np.std: lambda x, axis=None, keepdims=False, ddof=0: (
        formulas.sqrt(primitives.variance(lifted(x), axis, keepdims, ddof))
    ),
    np.average: _average, np.linalg.norm: _norm,
    np.any: lambda x, axis=None, keepdims=False: np.asarray(truth(x).any(axis=axis, keepdims=keepdims)),
    np.all: lambda x, axis=None, keepdims=False: np.asarray(truth(x).all(axis=axis, keepdims=keepdims)),
    np.count_nonzero: lambda x, axis=None, keepdims=False: (
        np.asarray(np.count_nonzero(truth(x), axis=axis, keepdims=keepdims))
    ),
    np.cumsum: lambda x, axis=None: primitives.running_total(lifted(x), axis),
    np.cumprod: lambda x, axis=None: primitives.accumulated(lifted(x), axis, exact.multiply), np.diff: _diff,
    np.argmax: _place(primitives.largest), np.argmin: _place(primitives.smallest), np.sort: _sort,
    np.argsort: _argsort, np.einsum: _einsum, np.tensordot: _tensordot, np.dot: _dot, np.inner: _inner,
    np.vdot: lambda x, y: primitives.matmul(lifted(x).reshape(-1), lifted(y).reshape(-1)),
    np.outer: lambda x, b: exact.multiply(lifted(x).reshape(-1, 1), lifted(b).reshape(1, -1)),
    np.pad: _pad, np.tril: _triangle(True), np.triu: _triangle(False), np.append: _append, np.full_like: _full_like,
    np.zeros_like: _like(0), np.ones_like: _like(1), np.empty_like: _like(float("nan")), np.copyto: _copyto,
    np.put_along_axis: _put_along_axis,
}  # fmt: skip
"""Each takes what it knows of by NumPy's names (`reference_runs`)."""

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
