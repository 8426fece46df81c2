"""`Numbers`: arrays of numbers that NumPy code takes for arrays of floats.

What NumPy does to such an array is looked up by name, functions here and methods in `array_functions`; what has no rule
raises `Undecided` with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import EllipsisType
from typing import Any, Final, NoReturn, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import constants, exact, formulas, reducing
from .array_calls import asked, is_float
from .exact import NUMBER
from .field import Array
from .float_types import UNKNOWN, FloatType, float_type, joint
from .reducing import Axis
from .reference_ways import noted
from .undecided import Undecided

T = TypeVar("T")

Part: TypeAlias = Array | int | slice | EllipsisType | None
Index: TypeAlias = Part | tuple[Part, ...]


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
        from .array_functions import FUNCTIONS, MOVING  # which need this class

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
        return cast(self, dtype)

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


def is_numbers(value: object) -> TypeGuard[Array]:
    return isinstance(value, Numbers) or (isinstance(value, np.ndarray) and value.dtype == NUMBER)


def plain(value: object) -> Array:
    """The array without its class."""
    return np.ndarray.view(value, np.ndarray) if isinstance(value, Numbers) else np.asarray(value)


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


def lifted(value: ArrayLike | None) -> Array:
    """Numbers, floats, integers and bools as a plain array of numbers."""
    if is_numbers(value):
        return plain(value)
    if isinstance(value, list | tuple) and any(is_numbers(each) for each in value):
        return np.stack([lifted(each) for each in value])
    found = np.asarray(value)
    if found.dtype == NUMBER:
        return found
    if found.dtype.kind in "iub":
        return exact.of_integers(found)
    if found.dtype.kind == "f":
        name = {2: "f16", 4: "f32"}.get(found.dtype.itemsize, "f64")
        return constants.numbers_of(found.astype(np.float64), name)
    raise Undecided(f"elements of type {found.dtype} beside exact numbers")


def cast(x: ArrayLike, dtype: DTypeLike) -> Array:
    """Floats stay what they are; integers are cut off."""
    if is_float(dtype):
        return presented(exact.copied(plain(x)), float_type(dtype))
    wanted = np.dtype(dtype)
    if wanted.kind == "b":
        return np.not_equal(x, 0)
    if wanted.kind in "iu":
        whole, held = formulas.to_whole(plain(x), np.trunc), np.iinfo(wanted)
        if not ((whole >= held.min) & (whole < float(held.max) + 1)).all():
            raise Undecided(f"a cast to {wanted} of numbers that it does not hold")
        return np.asarray(whole.astype(wanted))
    return _unknown(f"a cast to {wanted}")


def clipped(x: ArrayLike, low: ArrayLike | None, high: ArrayLike | None) -> Array:
    found = lifted(x)
    if low is not None:
        found = larger(found, lifted(low))
    return presented(found if high is None else smaller(found, lifted(high)))


# ------------------------------------------------------------------------------------------------- ufuncs
def _compared(symbol: str, test: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda x, y: noted(f"comparison {symbol}", np.asarray(test(exact.order(x, y))))


def larger(x: Array, y: Array, nan_wins: bool = True) -> Array:
    return np.where(noted("maximum", formulas.is_extreme(x, y, 1, nan_wins)), x, y)


def smaller(x: Array, y: Array, nan_wins: bool = True) -> Array:
    return np.where(noted("minimum", formulas.is_extreme(x, y, -1, nan_wins)), x, y)


UNARY: Final[dict[np.ufunc, Callable[[Array], Array]]] = {
    np.negative: exact.negative, np.positive: exact.copied, np.absolute: formulas.absolute, np.fabs: formulas.absolute,
    np.exp: formulas.exp, np.exp2: formulas.exp2, np.expm1: formulas.expm1, np.log: formulas.log,
    np.log2: formulas.log2, np.log10: formulas.log10, np.log1p: formulas.log1p, np.sqrt: formulas.sqrt,
    np.square: lambda x: exact.multiply(x, x), np.reciprocal: lambda x: exact.divide(formulas.ONE, x),
    np.tanh: formulas.tanh, np.sinh: formulas.sinh, np.cosh: formulas.cosh, np.sin: formulas.sin,
    np.cos: formulas.cos, np.tan: formulas.tan, np.arctan: formulas.arctan, np.arcsin: formulas.arcsin,
    np.arcsinh: formulas.arcsinh, np.arccosh: formulas.arccosh, np.arctanh: formulas.arctanh,
    np.floor: lambda x: formulas.rounded(x, np.floor), np.ceil: lambda x: formulas.rounded(x, np.ceil),
    np.trunc: lambda x: formulas.rounded(x, np.trunc), np.rint: lambda x: formulas.rounded(x, np.rint),
    np.sign: formulas.sign, np.isnan: lambda x: np.isnan(exact.certain(x)),
    np.isfinite: lambda x: np.isfinite(exact.certain(x)),
    np.isinf: lambda x: np.isinf(exact.certain(x)), np.logical_not: lambda x: exact.order(x, formulas.integers(0)) == 0,
    np.conjugate: exact.copied, np.signbit: lambda x: exact.order(x, formulas.integers(0)) == -1,
}  # fmt: skip
BINARY: Final[dict[np.ufunc, Callable[[Array, Array], Array]]] = {
    np.add: exact.add, np.subtract: exact.subtract, np.multiply: exact.multiply, np.divide: exact.divide,
    np.maximum: larger, np.minimum: smaller, np.power: formulas.power,
    np.fmax: lambda x, y: larger(x, y, False), np.fmin: lambda x, y: smaller(x, y, False),
    np.float_power: formulas.power, np.matmul: reducing.matmul,
    np.floor_divide: formulas.floor_quotient,
    np.remainder: lambda x, y: formulas.remainder(x, y, np.floor),
    np.fmod: lambda x, y: formulas.remainder(x, y, np.trunc),
    np.hypot: lambda x, y: formulas.sqrt(exact.add(exact.multiply(x, x), exact.multiply(y, y))),
    np.logaddexp: formulas.logaddexp,
    np.less: _compared("<", lambda o: o == -1), np.less_equal: _compared("<=", lambda o: (o == -1) | (o == 0)),
    np.greater: _compared(">", lambda o: o == 1), np.greater_equal: _compared(">=", lambda o: (o == 1) | (o == 0)),
    np.equal: _compared("==", lambda o: o == 0), np.not_equal: _compared("!=", lambda o: o != 0),
}  # fmt: skip
_REDUCTIONS: Final[dict[np.ufunc, Callable[..., Array]]] = {
    np.add: reducing.total, np.multiply: reducing.product, np.maximum: reducing.largest, np.minimum: reducing.smallest,
    np.fmax: reducing.largest_number, np.fmin: reducing.smallest_number,
}  # fmt: skip


def _call(ufunc: np.ufunc, *inputs: ArrayLike, **options: object) -> Array:
    if options:
        _unknown(f"{ufunc.__name__} with {', '.join(options)}")
    if ufunc in UNARY:
        return UNARY[ufunc](lifted(inputs[0]))
    if ufunc in BINARY:
        return BINARY[ufunc](lifted(inputs[0]), lifted(inputs[1]))
    return _unknown(ufunc.__name__)


def _reduce(
    ufunc: np.ufunc, x: ArrayLike, axis: Axis = 0, keepdims: bool = False, initial: ArrayLike | None = None
) -> Array:
    if ufunc not in _REDUCTIONS:
        return _unknown(f"{ufunc.__name__}.reduce")
    found = _REDUCTIONS[ufunc](lifted(x), axis, keepdims)
    return found if initial is None else BINARY[ufunc](found, lifted(initial))


def _accumulate(ufunc: np.ufunc, x: ArrayLike, axis: int = 0) -> Array:
    if ufunc is np.add:
        return reducing.running_total(lifted(x), axis)
    return reducing.accumulated(lifted(x), axis, BINARY[ufunc]) if ufunc in _REDUCTIONS else _unknown(ufunc.__name__)


def _outer(ufunc: np.ufunc, x: ArrayLike, y: ArrayLike) -> Array:
    a, b = lifted(x), lifted(y)
    return BINARY[ufunc](a.reshape(a.shape + (1,) * b.ndim), b)


def _at(ufunc: np.ufunc, x: ArrayLike, place: Index, *values: ArrayLike) -> None:
    """One element after the other where several values go to one."""
    target = plain(x)
    touched = np.arange(target.size).reshape(target.shape)[_index(place)]
    flat = touched.reshape(-1)
    given = np.broadcast_to(lifted(values[0]), touched.shape).reshape(-1)
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(starts, append=len(ordered)))
    for turn in range(int(rank.max(initial=-1)) + 1):
        lanes = order[rank == turn]
        where = np.unravel_index(flat[lanes], target.shape)
        target[where] = BINARY[ufunc](target[where], given[lanes])


_METHODS: Final[dict[str, Callable[..., Array | None]]] = {
    "__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "outer": _outer, "at": _at,
}  # fmt: skip
