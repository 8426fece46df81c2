"""What torch's operators do to arrays of numbers, by their names in ``aten``: element by element, reductions, products.

Rules take arrays of numbers or of integers, numbers of Python, shapes as lists and types by name, and are called as the
operators are.  Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from . import exact, formulas, reducing
from .field import Array
from .primitives import ELEMENTWISE, clip, larger, lifted, truth
from .reducing import Axis
from .undecided import Undecided

Rule: TypeAlias = Callable[..., object]

Dim: TypeAlias = int | Sequence[int] | None
"""An axis of torch, a list of them (empty for all) or None."""


def _one(function: Callable[[Array], Array]) -> Rule:
    return lambda x: function(lifted(x))


def _two(function: Callable[[Array, Array], Array]) -> Rule:
    return lambda x, y: function(lifted(x), lifted(y))


def scaled(x: ArrayLike, factor: ArrayLike) -> Array:
    """``factor * x``, and ``x`` itself where the factor is 1."""
    return lifted(x) if isinstance(factor, int | float) and factor == 1 else exact.multiply(lifted(x), lifted(factor))


def _add(x: ArrayLike, y: ArrayLike, alpha: ArrayLike = 1) -> Array:
    return exact.add(lifted(x), scaled(y, alpha))


def _sub(x: ArrayLike, y: ArrayLike, alpha: ArrayLike = 1) -> Array:
    return exact.subtract(lifted(x), scaled(y, alpha))


def _div(x: ArrayLike, y: ArrayLike, rounding_mode: str | None = None) -> Array:
    if rounding_mode == "floor":
        return formulas.floor_quotient(lifted(x), lifted(y))
    quotient = exact.divide(lifted(x), lifted(y))
    return quotient if rounding_mode is None else formulas.rounded(quotient, np.trunc)


def _lerp(start: ArrayLike, end: ArrayLike, weight: ArrayLike) -> Array:
    formulas.require_finite(lifted(start), lifted(end), "aten.lerp")
    apart = exact.subtract(lifted(end), lifted(start))
    return exact.add(lifted(start), exact.multiply(lifted(weight), apart))


def _where(condition: Array, x: ArrayLike | None = None, y: ArrayLike | None = None) -> Array | tuple[Array, ...]:
    if x is None:
        return np.nonzero(truth(condition))
    return np.where(truth(condition), lifted(x), lifted(y))


def _round(x: ArrayLike, decimals: int = 0) -> Array:
    if decimals:
        raise Undecided("aten.round to decimals has no exact rule")
    return ELEMENTWISE["rint"](lifted(x))


def _nan_to_num(
    x: ArrayLike, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    found = lifted(x)
    exact.certain(found)
    for lanes, value, what in (
        (np.isposinf(found["s"]), posinf, "inf"),
        (np.isneginf(found["s"]), neginf, "-inf"),
    ):
        if lanes.any() and value is None:
            raise Undecided(f"aten.nan_to_num of {what} without a number for it")
        found = found if value is None else np.where(lanes, lifted(value), found)
    return np.where(np.isnan(found["s"]), lifted(0.0 if nan is None else nan), found)


def _sign(x: ArrayLike) -> Array:
    """Of NaN 0, unlike NumPy's."""
    found = formulas.sign(lifted(x))
    return np.where(np.isnan(found["s"]), formulas.integers(0), found)


# -------------------------------------------------------------------------------------------- reductions
def axes(dim: Dim) -> Axis:
    """``dim`` of torch as an axis of NumPy.

    :raises Undecided: it is something else, of a form of the operator that no rule knows.
    """
    if isinstance(dim, bool | np.ndarray):
        raise Undecided("an axis that is no number")
    if dim is None or isinstance(dim, int):
        return dim
    return tuple(dim) or None


def terms(x: ArrayLike, dtype: object = None) -> Array:
    """What a reduction in the type ``dtype`` is of, which torch casts first."""
    if dtype is not None and not str(dtype).startswith(("float", "bfloat")):
        raise Undecided(f"a reduction of exact numbers in the type {dtype}")
    return lifted(x)


def _reduction(function: Callable[..., Array]) -> Rule:
    return lambda x, dim=None, keepdim=False, dtype=None: function(terms(x, dtype), axes(dim), keepdim)


def variance(x: ArrayLike, dim: Dim = None, correction: float | None = None, keepdim: bool = False) -> Array:
    ddof = 1 if correction is None else correction
    if ddof != int(ddof):
        raise Undecided(f"aten.var with the correction {ddof}")
    found = lifted(x)
    if not found.size:
        raise Undecided("aten.var of no elements")
    return reducing.variance(found, axes(dim), keepdim, int(ddof))


def _std(x: ArrayLike, dim: Dim = None, correction: float | None = None, keepdim: bool = False) -> Array:
    return formulas.sqrt(variance(x, dim, correction, keepdim))


def finite(x: ArrayLike, name: str) -> Array:
    """Numbers of which torch's algorithm takes a mean and a variance in one go: of an infinity both are NaN there, and
    the mean is infinite by its formula."""
    found = lifted(x)
    formulas.require_finite(found, found, f"aten.{name}")
    return found


def _with_mean(name: str, spread: Callable[..., Array]) -> Rule:
    def rule(
        x: ArrayLike, dim: Dim = None, correction: float | None = None, keepdim: bool = False
    ) -> tuple[Array, Array]:
        found = finite(x, name)
        return spread(found, dim, correction, keepdim), reducing.mean(found, axes(dim), keepdim)

    return rule


def _extreme(function: Callable[..., Array]) -> Rule:
    """``max(x)``, or the values along ``dim`` and their places, the first of equal ones."""

    def rule(x: ArrayLike, dim: int | None = None, keepdim: bool = False) -> Array | tuple[Array, Array]:
        found = lifted(x)
        if dim is None:
            return function(found, None, False)
        if not found.ndim:
            return found, np.zeros((), np.int64)
        return function(found, dim, keepdim), reducing.place_of(found, dim, keepdim, function)

    return rule


def _of_conditions(function: Callable[..., Array]) -> Rule:
    """``any`` and ``all``, for which no axes are none of them."""

    def rule(x: ArrayLike, dim: Dim = None, keepdim: bool = False) -> Array:
        place = () if not isinstance(dim, int) and dim is not None and not len(dim) else axes(dim)
        return np.asarray(function(truth(x), axis=place, keepdims=keepdim))

    return rule


def _sort(x: ArrayLike, dim: int = -1, descending: bool = False, stable: bool | None = None) -> tuple[Array, Array]:
    found = lifted(x)
    order = reducing.ranked(exact.negative(found) if descending else found, dim)
    if descending and np.isnan(found["s"]).any():  # which torch takes for the largest
        numbers = ~np.isnan(np.take_along_axis(found, order, dim)["s"])
        order = np.take_along_axis(order, np.argsort(numbers, axis=dim, kind="stable"), dim)
    return np.take_along_axis(found, order, dim), order


def _topk(x: ArrayLike, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    found, order = _sort(x, dim, largest)
    ranked = np.moveaxis(found, dim, -1)[..., : k + 1]
    one, other = ranked[..., 1:], ranked[..., :-1]
    if (exact.same(one, other) | (np.isnan(one["s"]) & np.isnan(other["s"]))).any():
        raise Undecided("aten.topk of equal numbers, of which torch does not say which is the first")
    first = tuple(slice(k) if place == dim % found.ndim else slice(None) for place in range(found.ndim))
    return found[first], order[first]


def log_sum_exp(x: ArrayLike, dim: Dim, keepdim: bool = False) -> Array:
    """``log(sum(exp(x - m))) + m`` with ``m`` the largest, so that no power goes beyond float64."""
    found = lifted(x)
    top = reducing.largest(found, axes(dim), True)
    top = np.where(np.isfinite(top["s"]), top, formulas.integers(0))
    whole = exact.add(formulas.log(reducing.total(formulas.exp(exact.subtract(found, top)), axes(dim), True)), top)
    return whole if keepdim else reducing.total(whole, axes(dim), False)


def _vector_norm(x: ArrayLike, ord: float = 2, dim: Dim = None, keepdim: bool = False, dtype: object = None) -> Array:
    found = terms(x, dtype)
    if ord == 2:
        return formulas.sqrt(reducing.total(exact.multiply(found, found), axes(dim), keepdim))
    if ord == 1:
        return reducing.total(formulas.absolute(found), axes(dim), keepdim)
    if ord == float("inf"):
        return reducing.largest(formulas.absolute(found), axes(dim), keepdim)
    raise Undecided(f"aten.linalg_vector_norm of order {ord} has no exact rule")


# ---------------------------------------------------------------------------------------------- products
def product(x: ArrayLike, y: ArrayLike) -> Array:
    return reducing.matmul(lifted(x), lifted(y))


def _added_product(x: ArrayLike, y: ArrayLike, z: ArrayLike, beta: ArrayLike = 1, alpha: ArrayLike = 1) -> Array:
    found = scaled(product(y, z), alpha)
    return found if isinstance(beta, int | float) and beta == 0 else exact.add(scaled(x, beta), found)


_ONE: Final = """abs=absolute neg=negative exp exp2 expm1 log log2 log10 log1p sqrt square tanh sinh cosh sin cos tan
    atan=arctan asin=arcsin asinh=arcsinh acosh=arccosh atanh=arctanh floor ceil trunc isnan isinf isfinite isneginf
    isposinf logical_not signbit reciprocal positive
    rsqrt sigmoid erf erfc"""
_TWO: Final = """mul=multiply true_divide=divide maximum minimum fmax fmin pow=power float_power floor_divide remainder
    fmod hypot logaddexp lt=less le=less_equal gt=greater ge=greater_equal eq=equal ne=not_equal"""
"""Primitives of one array and of two, ``torch's name=its name`` where torch has another."""


def _primitives(names: str, called: Callable[[Callable[..., Array]], Rule]) -> dict[str, Rule]:
    pairs = (each.partition("=") for each in names.split())
    return {name: called(ELEMENTWISE[other or name]) for name, _, other in pairs}


RULES: Final[dict[str, Rule]] = {
    **_primitives(_ONE, _one), **_primitives(_TWO, _two), "sign": _sign, "sgn": _sign, "round": _round,
    "relu": lambda x: larger(lifted(x), formulas.integers(0)), "nan_to_num": _nan_to_num,
    "frac": lambda x: exact.subtract(lifted(x), formulas.rounded(lifted(x), np.trunc)),
    "add": _add, "sub": _sub, "rsub": lambda x, y, alpha=1: _sub(y, x, alpha), "div": _div, "lerp": _lerp,
    "addcmul": lambda x, y, z, value=1: _add(x, exact.multiply(lifted(y), lifted(z)), value),
    "addcdiv": lambda x, y, z, value=1: _add(x, exact.divide(lifted(y), lifted(z)), value),
    "clamp": lambda x, min=None, max=None: clip(x, min, max), "clamp_min": lambda x, low: clip(x, low, None),
    "clamp_max": lambda x, high: clip(x, None, high), "where": _where,
    "masked_fill": lambda x, mask, value: np.where(truth(mask), lifted(value), lifted(x)),
    "logical_and": lambda x, y: truth(x) & truth(y), "logical_or": lambda x, y: truth(x) | truth(y),
    "logical_xor": lambda x, y: truth(x) ^ truth(y), "nonzero": lambda x: np.argwhere(truth(x)),
    "sum": _reduction(reducing.total), "mean": _reduction(reducing.mean), "amax": _reduction(reducing.largest),
    "amin": _reduction(reducing.smallest), "prod": _reduction(reducing.product), "var": variance, "std": _std,
    "var_mean": _with_mean("var_mean", variance), "std_mean": _with_mean("std_mean", _std),
    "max": _extreme(reducing.largest), "min": _extreme(reducing.smallest),
    "argmax": lambda x, dim=None, keepdim=False: reducing.place_of(lifted(x), dim, keepdim, reducing.largest),
    "argmin": lambda x, dim=None, keepdim=False: reducing.place_of(lifted(x), dim, keepdim, reducing.smallest),
    "any": _of_conditions(np.any), "all": _of_conditions(np.all),
    "count_nonzero": lambda x, dim=None: np.asarray(np.count_nonzero(truth(x), axis=axes(dim))),
    "sort": _sort, "topk": _topk, "logsumexp": log_sum_exp, "linalg_vector_norm": _vector_norm,
    "norm": lambda x, p=2, dim=None, keepdim=False, dtype=None: (
        _vector_norm(x, 2 if p is None else p, dim, keepdim, dtype)
    ),
    "cumsum": lambda x, dim, dtype=None: reducing.running_total(terms(x, dtype), dim),
    "cumprod": lambda x, dim, dtype=None: (
        reducing.accumulated(terms(x, dtype), dim % max(lifted(x).ndim, 1), exact.multiply)
    ),
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot", "matmul"), product),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _added_product),
    "outer": lambda x, y: exact.multiply(lifted(x)[:, None], lifted(y)[None]),
}  # fmt: skip
