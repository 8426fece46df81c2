"""What functions of arrays mean on exact numbers: one table, which NumPy's names and torch's lead into.

A primitive takes numbers, floats, integers and bools in any form (`lifted`) and gives plain arrays.  Its name and its
meaning are NumPy's.  NumPy comes by `exact_arrays`, torch by `torch_rules` and `torch_moving`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from types import EllipsisType
from typing import Final, NoReturn, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import exact, formulas
from .exact import NUMBER
from .field import Array, NearTie, Undecided
from .reference_code import noted

# ---------------------------------------------------------------------------------------------------------- float types
# The type of a reference's floats, where it asks: exact numbers have none, those that they stand for may.


class UnknownFloat:
    """What ``x.dtype`` is of numbers whose type is not followed.  Arrays may be made of it; whoever looks into it, to
    branch on it, ends the attempt."""

    def _refused(self, *_: object) -> NoReturn:
        raise Undecided("the type (dtype) of computed floats")

    __eq__ = __ne__ = __hash__ = __str__ = __repr__ = __bool__ = __getattr__ = _refused


UNKNOWN: Final = UnknownFloat()

FloatType: TypeAlias = "np.dtype[np.generic] | UnknownFloat"


_NARROW: Final = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def is_float(dtype: DTypeLike | UnknownFloat | None) -> bool:
    """Whether a type is one of floats, which all are one: rounding is no part of real arithmetic."""
    if dtype is None or isinstance(dtype, UnknownFloat):
        return True
    found = np.dtype(dtype)
    return found.kind == "f" or found == NUMBER or found.name in _NARROW


def float_type(dtype: DTypeLike | UnknownFloat | None) -> FloatType:
    """The type of floats that ``dtype`` asks for: None is NumPy's own choice."""
    if isinstance(dtype, UnknownFloat):
        return UNKNOWN
    found: np.dtype[np.generic] = np.dtype(dtype)
    return found if found.kind == "f" else UNKNOWN


def joint(types: Iterable[FloatType | ArrayLike]) -> FloatType:
    """The type of what NumPy computes of operands: types of those that are numbers, and all others themselves."""
    known: list[np.dtype[np.generic] | ArrayLike] = []
    for each in types:
        if isinstance(each, UnknownFloat):
            return UNKNOWN
        known.append(each)
    return float_type(np.result_type(*known))


# ------------------------------------------------------------------------------------------------------------- reducing
# Reductions, scans, sorting and contractions of arrays of numbers, as NumPy's functions of these names do them.


Axis = int | tuple[int, ...] | None


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes, none of them negative."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(int(each) % max(ndim, 1) for each in given))


def along(x: Array, axis: Axis, keepdims: bool, one: Callable[[Array, int], Array]) -> Array:
    """``one`` (array, axis) -> array without that axis, applied to each of ``axis`` from the last on."""
    places = axes_of(axis, x.ndim)
    result = x
    for place in reversed(places):
        result = one(result, place)
    if keepdims:
        result = result.reshape(tuple(1 if place in places else size for place, size in enumerate(x.shape)))
    return result


def total(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, exact.total)


def folded(combine: Callable[[Array, Array], Array], neutral: Array | None) -> Callable[[Array, int], Array]:
    """Half of the elements with the other half, until one is left."""

    def one(x: Array, axis: int) -> Array:
        lanes = np.moveaxis(x, axis, 0)
        if not len(lanes):
            if neutral is None:
                raise Undecided("an extreme of no elements")
            return np.broadcast_to(neutral, lanes.shape[1:])
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = np.concatenate([combine(lanes[:half], lanes[half : 2 * half]), lanes[2 * half :]])
        return np.asarray(lanes[0], NUMBER)

    return one


def extreme(wanted: int, nan_wins: bool = True) -> Callable[[Array, int], Array]:
    """The largest (``wanted`` 1) or smallest (-1) number along an axis.

    :raises NearTie: another number is as good as equal to it in float64.
    """
    pick = formulas.maximum if wanted > 0 else formulas.minimum
    one_by_one = folded(lambda x, y: pick(x, y, nan_wins), None)

    def one(x: Array, axis: int) -> Array:
        s = exact.certain(x) * wanted
        if not s.shape[axis] or np.isnan(s).any():
            return one_by_one(x, axis)
        found = np.take_along_axis(x, np.argmax(s, axis=axis, keepdims=True), axis)
        top = found["s"] * wanted
        with np.errstate(all="ignore"):
            close = top - s <= exact.CLOSE * np.maximum(np.abs(top), np.abs(s)) + exact.CLOSEST
        close &= np.isfinite(s) & np.isfinite(top)
        if np.count_nonzero(close) > found.size and (close & ~exact.same(x, found)).any():
            raise NearTie("two different numbers are compared that are as good as equal in float64")
        return np.asarray(np.squeeze(found, axis), NUMBER)

    return one


def largest(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, extreme(1))


def smallest(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, extreme(-1))


def largest_number(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """NaN only where all are."""
    return along(x, axis, keepdims, extreme(1, False))


def smallest_number(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, extreme(-1, False))


def product(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    return along(x, axis, keepdims, folded(exact.multiply, formulas.ONE))


def mean(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    count = prod(x.shape[place] for place in axes_of(axis, x.ndim))
    return exact.divide(total(x, axis, keepdims), formulas.integers(count))


def variance(x: Array, axis: Axis = None, keepdims: bool = False, ddof: int = 0) -> Array:
    count = max(prod(x.shape[place] for place in axes_of(axis, x.ndim)) - ddof, 0)
    apart = exact.subtract(x, mean(x, axis, True))
    return exact.divide(total(exact.multiply(apart, apart), axis, keepdims), formulas.integers(count))


def accumulated(x: Array, axis: int | None, combine: Callable[[Array, Array], Array]) -> Array:
    lanes = np.moveaxis(x.reshape(-1) if axis is None else x, axis or 0, 0)
    steps = [lanes[0]] if len(lanes) else []
    for lane in lanes[1:]:
        steps.append(combine(steps[-1], lane))
    return np.moveaxis(np.stack(steps), 0, axis or 0) if steps else x


def running_total(x: Array, axis: int | None = None) -> Array:
    return exact.running(x.reshape(-1), 0) if axis is None else exact.running(x, axis % x.ndim)


# ------------------------------------------------------------------------------------------------ sorting
def ranked(x: Array, axis: int = -1) -> Array:
    """What sorts ``x`` upwards, the first of equal numbers first."""
    shadow = np.array(np.moveaxis(exact.certain(x), axis, -1))
    order = np.argsort(shadow, axis=-1, kind="stable")
    moved = np.moveaxis(x, axis, -1)
    ordered = np.take_along_axis(moved, order, -1)
    s = ordered["s"]
    close = np.abs(s[..., 1:] - s[..., :-1]) <= exact.CLOSE * np.abs(s[..., 1:]) + exact.CLOSEST
    equal = exact.same(ordered[..., 1:], ordered[..., :-1])
    if (close & ~equal & np.isfinite(s[..., 1:])).any():
        raise NearTie("numbers are sorted that are as good as equal in float64")
    if (equal & (s[..., 1:] != s[..., :-1])).any():
        for place in range(1, s.shape[-1]):
            s[..., place] = np.where(equal[..., place - 1], s[..., place - 1], s[..., place])
        np.put_along_axis(shadow, order, s, -1)
        order = np.argsort(shadow, axis=-1, kind="stable")
    return np.moveaxis(order, -1, axis)


def place_of(x: Array, axis: int | None, keepdims: bool, extreme: Callable[..., Array]) -> Array:
    """The first place of the largest or smallest number, or of NaN."""
    lanes = x.reshape(-1) if axis is None else x
    place = 0 if axis is None else axis
    found = extreme(lanes, place, True)
    found = np.argmax(exact.same(lanes, found) | (np.isnan(lanes["s"]) & np.isnan(found["s"])), axis=place)
    if keepdims:
        found = np.expand_dims(found, place) if axis is not None else found.reshape((1,) * x.ndim)
    return np.asarray(found)


# ------------------------------------------------------------------------------------------- contractions
def matmul(x: Array, y: Array) -> Array:
    """As NumPy's: vectors get an axis, which the result lacks."""
    left = x[None] if x.ndim == 1 else x
    right = y[:, None] if y.ndim == 1 else y
    result = exact.matmul(left, right)
    if y.ndim == 1:
        result = result[..., 0]
    return result[..., 0, :] if x.ndim == 1 and y.ndim > 1 else result[..., 0] if x.ndim == 1 else result


def einsum(text: str, operands: Sequence[Array]) -> Array:
    """The sum of products that ``text`` says, two operands at a time."""
    inputs, arrow, output = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if "." in text:
        raise Undecided("einsum with an ellipsis")
    if not arrow:
        output = "".join(sorted(letter for letter in set(inputs) - {","} if inputs.count(letter) == 1))
    left, names = _once(operands[0], terms[0])
    for number in range(1, len(operands)):
        right, others = _once(operands[number], terms[number])
        needed = set(output).union(*terms[number + 1 :])
        left, names = _contracted(left, names, right, others, needed)
    rest = tuple(place for place, letter in enumerate(names) if letter not in output)
    left = total(left, rest) if rest else left
    names = "".join(letter for letter in names if letter in output)
    return left.transpose([names.index(letter) for letter in output])


def _once(x: Array, names: str) -> tuple[Array, str]:
    """Repeated letters are diagonals."""
    for letter in set(names):
        while names.count(letter) > 1:
            first, second = [place for place, each in enumerate(names) if each == letter][:2]
            x = np.diagonal(x, axis1=first, axis2=second)
            names = "".join(each for place, each in enumerate(names) if place not in (first, second)) + letter
    return x, names


def _contracted(x: Array, a: str, y: Array, b: str, needed: set[str]) -> tuple[Array, str]:
    batch = [letter for letter in a if letter in b and letter in needed]
    summed = [letter for letter in a if letter in b and letter not in needed]
    rows = [letter for letter in a if letter not in b]
    columns = [letter for letter in b if letter not in a]
    sizes = dict(zip(a + b, x.shape + y.shape, strict=True))

    def grouped(array: Array, names: str, *groups: list[str]) -> Array:
        moved = array.transpose([names.index(letter) for group in groups for letter in group])
        return moved.reshape([prod(sizes[letter] for letter in group) for group in groups])

    found = exact.matmul(grouped(x, a, batch, rows, summed), grouped(y, b, batch, summed, columns))
    names = [*batch, *rows, *columns]
    return found.reshape([sizes[letter] for letter in names]), "".join(names)


# ----------------------------------------------------------------------------------------------------------- primitives


Part: TypeAlias = Array | int | slice | EllipsisType | None
Index: TypeAlias = Part | tuple[Part, ...]


# ------------------------------------------------------------------------------------------------ operands
def plain(value: object) -> Array:
    """The array without its class."""
    return np.ndarray.view(value, np.ndarray) if isinstance(value, np.ndarray) else np.asarray(value)


def is_numbers(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray) and plain(value).dtype == NUMBER


def lifted(value: ArrayLike | None) -> Array:
    """Numbers, floats, integers and bools as a plain array of numbers."""
    if isinstance(value, list | tuple) and any(is_numbers(each) for each in value):
        return np.stack([lifted(each) for each in value])
    found = plain(value)
    if found.dtype == NUMBER:
        return found
    if found.dtype.kind in "iub":
        return exact.of_integers(found)
    if found.dtype.kind == "f":
        name = {2: "f16", 4: "f32"}.get(found.dtype.itemsize, "f64")
        return exact.numbers_of(found.astype(np.float64), name)
    raise Undecided(f"elements of type {found.dtype} beside exact numbers")


def truth(x: ArrayLike) -> Array:
    """Which elements are not 0."""
    of_numbers = is_numbers(x) or isinstance(x, list | tuple)
    return np.asarray(exact.order(lifted(x), formulas.integers(0)) != 0 if of_numbers else np.asarray(x) != 0)


def cast(x: ArrayLike, dtype: DTypeLike) -> Array:
    """Floats stay what they are; integers are cut off."""
    if is_float(dtype):
        return exact.copied(plain(x))
    wanted = np.dtype(dtype)
    if wanted.kind == "b":
        return ELEMENTWISE["not_equal"](lifted(x), formulas.integers(0))
    if wanted.kind in "iu":
        whole, held = formulas.to_whole(plain(x), np.trunc), np.iinfo(wanted)
        if not ((whole >= held.min) & (whole < float(held.max) + 1)).all():
            raise Undecided(f"a cast to {wanted} of numbers that it does not hold")
        return np.asarray(whole.astype(wanted))
    raise Undecided(f"a cast to {wanted} of exact numbers")


# --------------------------------------------------------------------------------------- element by element
def larger(x: Array, y: Array, nan_wins: bool = True) -> Array:
    return np.where(noted("maximum", formulas.is_extreme(x, y, 1, nan_wins)), x, y)


def smaller(x: Array, y: Array, nan_wins: bool = True) -> Array:
    return np.where(noted("minimum", formulas.is_extreme(x, y, -1, nan_wins)), x, y)


def clip(x: ArrayLike, low: ArrayLike | None, high: ArrayLike | None) -> Array:
    found = lifted(x) if low is None else larger(lifted(x), lifted(low))
    return found if high is None else smaller(found, lifted(high))


def _rounded(rounding: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: formulas.rounded(x, rounding)


def _compared(symbol: str, test: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    """``test``: of what `exact.order` says."""
    return lambda x, y: noted(f"comparison {symbol}", np.asarray(test(exact.order(x, y))))


def _asked(test: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: test(exact.certain(x))


ELEMENTWISE: Final[dict[str, Callable[..., Array]]] = {
    "negative": exact.negative, "positive": exact.copied, "conjugate": exact.copied, "absolute": formulas.absolute,
    "fabs": formulas.absolute, "sign": formulas.sign, "exp": formulas.exp, "exp2": formulas.exp2,
    "expm1": formulas.expm1, "log": formulas.log, "log2": formulas.log2, "log10": formulas.log10,
    "log1p": formulas.log1p, "sqrt": formulas.sqrt, "square": lambda x: exact.multiply(x, x),
    "reciprocal": lambda x: exact.divide(formulas.ONE, x), "tanh": formulas.tanh, "sinh": formulas.sinh,
    "cosh": formulas.cosh, "sin": formulas.sin, "cos": formulas.cos, "tan": formulas.tan, "arctan": formulas.arctan,
    "arcsin": formulas.arcsin, "arcsinh": formulas.arcsinh, "arccosh": formulas.arccosh, "arctanh": formulas.arctanh,
    "floor": _rounded(np.floor), "ceil": _rounded(np.ceil), "trunc": _rounded(np.trunc), "rint": _rounded(np.rint),
    "isnan": _asked(np.isnan), "isfinite": _asked(np.isfinite), "isinf": _asked(np.isinf),
    "isposinf": _asked(np.isposinf), "isneginf": _asked(np.isneginf),
    "logical_not": lambda x: exact.order(x, formulas.integers(0)) == 0,
    "signbit": lambda x: exact.order(x, formulas.integers(0)) == -1,
    "add": exact.add, "subtract": exact.subtract, "multiply": exact.multiply, "divide": exact.divide,
    "maximum": larger, "minimum": smaller, "fmax": lambda x, y: larger(x, y, False),
    "fmin": lambda x, y: smaller(x, y, False), "power": formulas.power, "float_power": formulas.power,
    "floor_divide": formulas.floor_quotient, "remainder": lambda x, y: formulas.remainder(x, y, np.floor),
    "fmod": lambda x, y: formulas.remainder(x, y, np.trunc), "logaddexp": formulas.logaddexp,
    "hypot": lambda x, y: formulas.sqrt(exact.add(exact.multiply(x, x), exact.multiply(y, y))),
    "less": _compared("<", lambda o: o == -1), "less_equal": _compared("<=", lambda o: (o == -1) | (o == 0)),
    "greater": _compared(">", lambda o: o == 1), "greater_equal": _compared(">=", lambda o: (o == 1) | (o == 0)),
    "equal": _compared("==", lambda o: o == 0), "not_equal": _compared("!=", lambda o: o != 0),
    "matmul": matmul, "rsqrt": formulas.rsqrt, "sigmoid": formulas.sigmoid, "erf": formulas.erf,
    "erfc": formulas.erfc,
}  # fmt: skip
"""Of one array of numbers, or of two that broadcast; the last ones are torch's alone."""

REDUCTIONS: Final[dict[str, Callable[..., Array]]] = {
    "add": total, "multiply": product, "maximum": largest, "minimum": smallest,
    "fmax": largest_number, "fmin": smallest_number,
}  # fmt: skip
"""Along axes, by the name of what combines two elements."""


# --------------------------------------------------------------------------------------- making and moving
def filled(shape: int | Sequence[int], value: ArrayLike | None) -> Array:
    """``value`` NaN stands for memory that was not written: nothing that is computed of it is equal to anything."""
    return np.broadcast_to(lifted(value), shape).copy()


def triangle(x: ArrayLike, diagonal: int, lower: bool) -> Array:
    """``x`` up to that diagonal, or from it on, and 0."""
    array = lifted(x)
    kept = np.tri(array.shape[-2], array.shape[-1], diagonal if lower else diagonal - 1, dtype=np.bool_)
    return np.where(kept if lower else ~kept, array, formulas.zeros(()))


def combine_at(target: Array, places: Array, values: Array, combine: Callable[[Array, Array], Array]) -> None:
    """Put ``combine`` of the element there and the value at flat ``places`` of ``target``.

    Where several values go to one place, one goes after the other.
    """
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(starts, append=len(ordered)))
    for turn in range(int(rank.max(initial=-1)) + 1):
        lanes = order[rank == turn]
        where = np.unravel_index(places[lanes], target.shape)
        target[where] = combine(target[where], values[lanes])
