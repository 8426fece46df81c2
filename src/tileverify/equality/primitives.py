"""What functions of arrays mean on exact numbers: one table, which NumPy's names and torch's lead into.

A primitive takes numbers, floats, integers and bools in any form (`lifted`) and gives plain arrays.  Its name and its
meaning are NumPy's.  NumPy comes by `exact_arrays` and `array_functions`, torch by `torch_rules` and `torch_moving`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Final, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import constants, exact, formulas, reducing
from .exact import NUMBER
from .field import Array
from .float_types import is_float
from .reference_ways import noted
from .undecided import Undecided

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
        return constants.numbers_of(found.astype(np.float64), name)
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
    "matmul": reducing.matmul, "rsqrt": formulas.rsqrt, "sigmoid": formulas.sigmoid, "erf": formulas.erf,
    "erfc": formulas.erfc,
}  # fmt: skip
"""Of one array of numbers, or of two that broadcast; the last ones are torch's alone."""

REDUCTIONS: Final[dict[str, Callable[..., Array]]] = {
    "add": reducing.total, "multiply": reducing.product, "maximum": reducing.largest, "minimum": reducing.smallest,
    "fmax": reducing.largest_number, "fmin": reducing.smallest_number,
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
