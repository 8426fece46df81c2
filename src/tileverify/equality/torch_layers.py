"""What torch's operators for networks do to arrays of numbers: activations, softmax, normalisations and losses."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from . import exact, formulas, reducing
from .field import Array
from .primitives import ELEMENTWISE, larger, lifted
from .torch_rules import Rule, finite, log_sum_exp, scaled
from .undecided import Undecided


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
    return exact.divide(powers, reducing.total(powers, dim, True))


def _log_softmax(x: ArrayLike, dim: int, half_to_float: bool = False) -> Array:
    found = lifted(x)
    top = reducing.largest(found, dim, True)
    top = np.where(np.isfinite(top["s"]), top, formulas.integers(0))
    apart = exact.subtract(found, top)
    return exact.subtract(apart, formulas.log(reducing.total(formulas.exp(apart), dim, True)))


def _softmax_backward(dy: ArrayLike, y: ArrayLike, dim: int, input_dtype: object = None) -> Array:
    both = _times(dy, y)
    return exact.subtract(both, exact.multiply(lifted(y), reducing.total(both, dim, True)))


# ----------------------------------------------------------------------------------------- normalisations
def _normalised(x: Array, axes: tuple[int, ...], eps: ArrayLike) -> tuple[Array, Array, Array]:
    mean = reducing.mean(x, axes, True)
    rstd = formulas.rsqrt(exact.add(reducing.variance(x, axes, True), lifted(eps)))
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
    mean = reducing.mean(exact.multiply(found, found), axes, True)
    rstd = formulas.rsqrt(exact.add(mean, lifted(2.0**-23 if eps is None else eps)))
    return _affine(exact.multiply(found, rstd), weight, None, tuple(size)), rstd


# ------------------------------------------------------------------------------------------------- losses
def _reduced(x: Array, reduction: int) -> Array:
    return x if reduction == 0 else reducing.mean(x) if reduction == 1 else reducing.total(x)


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
    total = reducing.total(weights)
    if reduction == 0:
        return loss if found.ndim == 2 else loss[0], total
    whole = reducing.total(loss)
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


RULES: Final[dict[str, Rule]] = {
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
        exact.subtract(lifted(dy), _times(formulas.exp(lifted(y)), reducing.total(lifted(dy), dim, True)))
    ),
    "logsumexp": log_sum_exp, "native_layer_norm": _layer_norm, "native_group_norm": _group_norm,
    "_fused_rms_norm": _fused_rms_norm, "nll_loss_forward": _nll, "xlogy": _xlogy, "convolution": _convolution,
    "mse_loss": lambda x, y, reduction=1: (
        _reduced(ELEMENTWISE["square"](exact.subtract(lifted(x), lifted(y))), reduction)
    ),
}  # fmt: skip
