"""`Numbers`: arrays of numbers that NumPy code takes for arrays of floats.

What NumPy does to such an array is looked up by name, functions here and methods in `array_functions`; what has no rule
raises `Undecided` with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import reducing
from .array_functions import FUNCTIONS, MOVING, asked
from .exact import NUMBER
from .field import Array
from .float_types import UNKNOWN, FloatType, float_type, is_float, joint
from .primitives import ELEMENTWISE, REDUCTIONS, Index, Part, cast, combine_at, is_numbers, lifted, plain
from .reducing import Axis
from .undecided import Undecided

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
        return reducing.running_total(lifted(x), axis)
    return reducing.accumulated(lifted(x), axis, combine) if ufunc.__name__ in REDUCTIONS else _unknown(ufunc.__name__)


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
