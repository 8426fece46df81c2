"""What torch's operators do to arrays of numbers, by their names in ``aten``: element by element, reductions, products.

Rules take arrays of numbers or of integers, numbers of Python, shapes as lists and types by name, and are called as the
operators are.  Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from . import exact, formulas, primitives
from .field import Array, Undecided
from .primitives import ELEMENTWISE, Axis, clip, larger, lifted, truth

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
    return primitives.variance(found, axes(dim), keepdim, int(ddof))


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
        return spread(found, dim, correction, keepdim), primitives.mean(found, axes(dim), keepdim)

    return rule


def _extreme(function: Callable[..., Array]) -> Rule:
    """``max(x)``, or the values along ``dim`` and their places, the first of equal ones."""

    def rule(x: ArrayLike, dim: int | None = None, keepdim: bool = False) -> Array | tuple[Array, Array]:
        found = lifted(x)
        if dim is None:
            return function(found, None, False)
        if not found.ndim:
            return found, np.zeros((), np.int64)
        return function(found, dim, keepdim), primitives.place_of(found, dim, keepdim, function)

    return rule


def _of_conditions(function: Callable[..., Array]) -> Rule:
    """``any`` and ``all``, for which no axes are none of them."""

    def rule(x: ArrayLike, dim: Dim = None, keepdim: bool = False) -> Array:
        place = () if not isinstance(dim, int) and dim is not None and not len(dim) else axes(dim)
        return np.asarray(function(truth(x), axis=place, keepdims=keepdim))

    return rule


def _sort(x: ArrayLike, dim: int = -1, descending: bool = False, stable: bool | None = None) -> tuple[Array, Array]:
    found = lifted(x)
    order = primitives.ranked(exact.negative(found) if descending else found, dim)
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
    top = primitives.largest(found, axes(dim), True)
    top = np.where(np.isfinite(top["s"]), top, formulas.integers(0))
    whole = exact.add(formulas.log(primitives.total(formulas.exp(exact.subtract(found, top)), axes(dim), True)), top)
    return whole if keepdim else primitives.total(whole, axes(dim), False)


def _vector_norm(x: ArrayLike, ord: float = 2, dim: Dim = None, keepdim: bool = False, dtype: object = None) -> Array:
    found = terms(x, dtype)
    if ord == 2:
        return formulas.sqrt(primitives.total(exact.multiply(found, found), axes(dim), keepdim))
    if ord == 1:
        return primitives.total(formulas.absolute(found), axes(dim), keepdim)
    if ord == float("inf"):
        return primitives.largest(formulas.absolute(found), axes(dim), keepdim)
    raise Undecided(f"aten.linalg_vector_norm of order {ord} has no exact rule")


# ---------------------------------------------------------------------------------------------- products
def product(x: ArrayLike, y: ArrayLike) -> Array:
    return primitives.matmul(lifted(x), lifted(y))


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
    "sum": _reduction(primitives.total), "mean": _reduction(primitives.mean), "amax": _reduction(primitives.largest),
    "amin": _reduction(primitives.smallest), "prod": _reduction(primitives.product), "var": variance, "std": _std,
    "var_mean": _with_mean("var_mean", variance), "std_mean": _with_mean("std_mean", _std),
    "max": _extreme(primitives.largest), "min": _extreme(primitives.smallest),
    "argmax": lambda x, dim=None, keepdim=False: primitives.place_of(lifted(x), dim, keepdim, primitives.largest),
    "argmin": lambda x, dim=None, keepdim=False: primitives.place_of(lifted(x), dim, keepdim, primitives.smallest),
    "any": _of_conditions(np.any), "all": _of_conditions(np.all),
    "count_nonzero": lambda x, dim=None: np.asarray(np.count_nonzero(truth(x), axis=axes(dim))),
    "sort": _sort, "topk": _topk, "logsumexp": log_sum_exp, "linalg_vector_norm": _vector_norm,
    "norm": lambda x, p=2, dim=None, keepdim=False, dtype=None: (
        _vector_norm(x, 2 if p is None else p, dim, keepdim, dtype)
    ),
    "cumsum": lambda x, dim, dtype=None: primitives.running_total(terms(x, dtype), dim),
    "cumprod": lambda x, dim, dtype=None: (
        primitives.accumulated(terms(x, dtype), dim % max(lifted(x).ndim, 1), exact.multiply)
    ),
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot", "matmul"), product),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _added_product),
    "outer": lambda x, y: exact.multiply(lifted(x)[:, None], lifted(y)[None]),
}  # fmt: skip


# --------------------------------------------------------------------------------------------------------- torch layers
# What torch's operators for networks do to arrays of numbers: activations, softmax, normalisations and losses.


def _times(*factors: ArrayLike) -> Array:
    result = lifted(factors[0])
    for factor in factors[1:]:
        result = exact.multiply(result, lifted(factor))
    return result


# ------------------------------------------------------------------------------------------- activations
def _gelu(x: ArrayLike, approximate: str = "none") -> Array:
    found = lifted(x)
    if approximate == "tanh":
        cube = _times(0.044715, found, found, found)
        inner = formulas.tanh(exact.multiply(lifted(sqrt(2 / np.pi)), exact.add(found, cube)))
    else:
        inner = formulas.erf(exact.multiply(found, lifted(sqrt(0.5))))
    return _times(0.5, found, exact.add(formulas.ONE, inner))


def _softplus(x: ArrayLike, beta: ArrayLike = 1, threshold: ArrayLike = 20) -> Array:
    found = scaled(x, beta)
    low = exact.order(found, lifted(threshold)) != 1
    near = np.where(low, found, formulas.integers(0))
    return np.where(low, exact.divide(formulas.log1p(formulas.exp(near)), lifted(beta)), lifted(x))


def _log_sigmoid(x: ArrayLike) -> tuple[Array, Array]:
    found = lifted(x)
    apart = formulas.exp(exact.negative(formulas.absolute(found)))
    return exact.subtract(formulas.minimum(found, formulas.integers(0)), formulas.log1p(apart)), apart


def _glu(x: ArrayLike, dim: int = -1) -> Array:
    first, second = np.split(lifted(x), 2, dim)
    return exact.multiply(first, formulas.sigmoid(second))


# ------------------------------------------------------------------------------------------------ softmax
def softmax(x: ArrayLike, dim: int, half_to_float: bool = False) -> Array:
    """Shifted by an integer near the largest: over the reals any shift gives the same, and an integer has no ties."""
    found = lifted(x)
    if not found.size:
        return found
    with np.errstate(all="ignore"):
        near = np.rint(found["s"].max(axis=dim, keepdims=True, initial=-np.inf))
    if np.isposinf(near).any():
        raise Undecided("a softmax of infinite numbers")
    shift = exact.of_integers(np.where(np.abs(near) < 2**52, near, 0).astype(np.int64))
    powers = formulas.exp(exact.subtract(found, shift))
    return exact.divide(powers, primitives.total(powers, dim, True))


def _log_softmax(x: ArrayLike, dim: int, half_to_float: bool = False) -> Array:
    found = lifted(x)
    top = primitives.largest(found, dim, True)
    top = np.where(np.isfinite(top["s"]), top, formulas.integers(0))
    apart = exact.subtract(found, top)
    return exact.subtract(apart, formulas.log(primitives.total(formulas.exp(apart), dim, True)))


def _softmax_backward(dy: ArrayLike, y: ArrayLike, dim: int, input_dtype: object = None) -> Array:
    both = _times(dy, y)
    return exact.subtract(both, exact.multiply(lifted(y), primitives.total(both, dim, True)))


# ----------------------------------------------------------------------------------------- normalisations
def _normalised(x: Array, axes: tuple[int, ...], eps: ArrayLike) -> tuple[Array, Array, Array]:
    mean = primitives.mean(x, axes, True)
    rstd = formulas.rsqrt(exact.add(primitives.variance(x, axes, True), lifted(eps)))
    return exact.multiply(exact.subtract(x, mean), rstd), mean, rstd


def _affine(x: Array, weight: ArrayLike | None, bias: ArrayLike | None, shape: tuple[int, ...]) -> Array:
    x = x if weight is None else exact.multiply(x, lifted(weight).reshape(shape))
    return x if bias is None else exact.add(x, lifted(bias).reshape(shape))


def _layer_norm(
    x: ArrayLike, size: Sequence[int], weight: ArrayLike, bias: ArrayLike, eps: ArrayLike
) -> tuple[Array, Array, Array]:
    found = finite(x, "native_layer_norm")
    axes = tuple(range(found.ndim - len(size), found.ndim))
    scaled_, mean, rstd = _normalised(found, axes, eps)
    return _affine(scaled_, weight, bias, tuple(size)), mean, rstd


def _group_norm(
    x: ArrayLike,
    weight: ArrayLike | None,
    bias: ArrayLike | None,
    rows: int,
    channels: int,
    length: int,
    groups: int,
    eps: ArrayLike,
) -> tuple[Array, Array, Array]:
    found = finite(x, "native_group_norm")
    scaled_, mean, rstd = _normalised(found.reshape(rows, groups, -1), (2,), eps)
    shape = (1, channels, *(1,) * (found.ndim - 2))
    return _affine(scaled_.reshape(found.shape), weight, bias, shape), mean[..., 0], rstd[..., 0]


def _fused_rms_norm(
    x: ArrayLike, size: Sequence[int], weight: ArrayLike | None, eps: ArrayLike | None
) -> tuple[Array, Array]:
    found = lifted(x)
    axes = tuple(range(found.ndim - len(size), found.ndim))
    mean = primitives.mean(exact.multiply(found, found), axes, True)
    rstd = formulas.rsqrt(exact.add(mean, lifted(2.0**-23 if eps is None else eps)))
    return _affine(exact.multiply(found, rstd), weight, None, tuple(size)), rstd


# ------------------------------------------------------------------------------------------------- losses
def _reduced(x: Array, reduction: int) -> Array:
    return x if reduction == 0 else primitives.mean(x) if reduction == 1 else primitives.total(x)


def _nll(logs: ArrayLike, target: Array, weight: ArrayLike | None, reduction: int, ignore: int) -> tuple[Array, Array]:
    """Of rows (N, C) or one row (C,); ``target`` holds classes."""
    found = lifted(logs)
    rows, classes = (found, target) if found.ndim == 2 else (found[None], np.atleast_1d(target))
    live = classes != ignore
    place = np.where(live, classes, 0)
    weights = formulas.ONE if weight is None else lifted(weight)[place]
    weights = np.where(live, weights, formulas.integers(0))
    loss = exact.negative(exact.multiply(np.take_along_axis(rows, place[:, None], 1)[:, 0], weights))
    loss = np.where(live, loss, formulas.integers(0))
    total = primitives.total(weights)
    if reduction == 0:
        return loss if found.ndim == 2 else loss[0], total
    whole = primitives.total(loss)
    return (exact.divide(whole, total) if reduction == 1 else whole), total


def _xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    zero = exact.same(lifted(x), formulas.integers(0)) & ~np.isnan(lifted(y)["s"])
    return np.where(zero, formulas.integers(0), exact.multiply(lifted(x), formulas.log(lifted(y))))


# --------------------------------------------------------------------------------------------- convolution
def _convolution(
    x: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Array:
    """Sums of products over windows, one offset in the window after the other."""
    if transposed:
        raise Undecided("aten.convolution of transposed kind has no exact rule")
    found, kernel = lifted(x), lifted(weight)
    axes = kernel.ndim - 2
    stride, padding, dilation = ((list(each) * axes)[:axes] for each in (stride, padding, dilation))
    wide = formulas.zeros((*found.shape[:2], *(n + 2 * p for n, p in zip(found.shape[2:], padding, strict=True))))
    inner: tuple[slice, ...] = tuple(slice(p, p + n) for p, n in zip(padding, found.shape[2:], strict=True))
    wide[(slice(None), slice(None), *inner)] = found
    sizes = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(wide.shape[2:], kernel.shape[2:], stride, dilation, strict=True)
    ]
    rows, members = wide.shape[0], kernel.shape[1]
    result = formulas.zeros((rows, groups, kernel.shape[0] // groups, int(np.prod(sizes))))
    for offset in np.ndindex(*kernel.shape[2:]):
        window: tuple[slice, ...] = tuple(
            slice(o * d, o * d + s * (n - 1) + 1, s) for o, d, s, n in zip(offset, dilation, stride, sizes, strict=True)
        )
        seen = wide[(slice(None), slice(None), *window)].reshape(rows, groups, members, -1)
        place: tuple[slice | int, ...] = (slice(None), slice(None), *offset)
        part = kernel[place].reshape(groups, -1, members)
        result = exact.add(result, exact.matmul(part[None], seen))
    found = result.reshape(rows, kernel.shape[0], *sizes)
    return found if bias is None else exact.add(found, lifted(bias).reshape(-1, *(1,) * axes))


LAYER_RULES: Final[dict[str, Rule]] = {
    "gelu": _gelu, "silu": lambda x: _times(x, formulas.sigmoid(lifted(x))), "softplus": _softplus,
    "log_sigmoid_forward": _log_sigmoid, "glu": _glu,
    "leaky_relu": lambda x, slope=0.01: (
        np.where(exact.order(lifted(x), formulas.integers(0)) == 1, lifted(x), _times(x, slope))
    ),
    "threshold_backward": lambda dy, x, threshold: (
        np.where(exact.order(lifted(x), lifted(threshold)) > 0, lifted(dy), formulas.integers(0))  # or NaN
    ),
    "relu6": lambda x: formulas.minimum(larger(lifted(x), formulas.integers(0)), formulas.integers(6)),
    "_softmax": softmax, "_log_softmax": _log_softmax, "_softmax_backward_data": _softmax_backward,
    "_log_softmax_backward_data": lambda dy, y, dim, input_dtype=None: (
        exact.subtract(lifted(dy), _times(formulas.exp(lifted(y)), primitives.total(lifted(dy), dim, True)))
    ),
    "logsumexp": log_sum_exp, "native_layer_norm": _layer_norm, "native_group_norm": _group_norm,
    "_fused_rms_norm": _fused_rms_norm, "nll_loss_forward": _nll, "xlogy": _xlogy, "convolution": _convolution,
    "mse_loss": lambda x, y, reduction=1: (
        _reduced(ELEMENTWISE["square"](exact.subtract(lifted(x), lifted(y))), reduction)
    ),
}  # fmt: skip
