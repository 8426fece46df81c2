"""Functions of single elements and of rows: activations, gates, dropout and norms; computed in float32."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, Protocol

from .arrays import (
    LONG,
    SHORT,
    A,
    AnyArray,
    Array,
    ArrayOf,
    any_of,
    as_rows,
    blocks,
    contiguous,
    empty,
    holding,
    need,
    processors,
    takes_jax,
)
from .prepared import Gradients, OfOne, Saved, launch, no_gradient, with_gradient

TILE: Final = 2048


def silu(x: ArrayOf[A]) -> A:
    """``x / (1 + exp(-x))``

    >>> import numpy as np
    >>> from tileverify.kernels import silu
    >>> print(silu(np.array([-1.0, 0.0, 2.0], np.float32)).round(4))
    [-0.2689  0.      1.7616]
    """
    return _SILU(x)


def gelu(x: ArrayOf[A]) -> A:
    """``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))``

    >>> import numpy as np
    >>> from tileverify.kernels import gelu
    >>> print(gelu(np.array([-1.0, 0.0, 2.0], np.float32)).round(4))
    [-0.1588  0.      1.9546]
    """
    return _GELU(x)


def relu(x: ArrayOf[A]) -> A:
    """``max(x, 0)``

    >>> import numpy as np
    >>> from tileverify.kernels import relu
    >>> relu(np.array([-1.0, 2.0], np.float32)).tolist()
    [0.0, 2.0]
    """
    return _RELU(x)


def silu_mul(gate: ArrayOf[A], up: AnyArray) -> A:
    """``silu(gate) * up``

    >>> import numpy as np
    >>> from tileverify.kernels import silu_mul
    >>> silu_mul(np.float32([2.0]), np.float32([0.5]))
    array([0.880797], dtype=float32)
    """
    need(gate.shape, up=up)
    return _SILU_MUL(gate, up)


def gelu_mul(gate: ArrayOf[A], up: AnyArray) -> A:
    """``gelu(gate) * up``

    >>> import numpy as np
    >>> from tileverify.kernels import gelu_mul
    >>> print(gelu_mul(np.float32([2.0]), np.float32([0.5])).round(4))
    [0.9773]
    """
    need(gate.shape, up=up)
    return _GELU_MUL(gate, up)


def dropout(x: ArrayOf[A], probability: float, seed: int, stream: int = 0) -> A:
    """``x / (1 - probability)``, or 0 with that probability.

    What is dropped depends on the place of the element, ``seed`` and ``stream`` alone; ``stream`` tells the dropouts of
    one program apart.

    >>> import numpy as np
    >>> from tileverify.kernels import dropout
    >>> sorted(set(dropout(np.ones(100, np.float32), 0.5, seed=1).tolist()))
    [0.0, 2.0]
    """
    return _DROPOUT(x, keep=1.0 - probability, seed=seed, stream=stream)


# ------------------------------------------------------------------------------------------------ elements
def _elements(
    kernel: str, like: ArrayOf[A], results: int, *arguments: AnyArray, numbers: Sequence[float] = ()
) -> list[A]:
    """The results of a kernel on arrays of one shape, element by element."""
    given = [contiguous(each).reshape((-1,)) for each in arguments]
    found = [empty((prod(like.shape),), like) for _ in range(results)]
    if found[0].shape[0]:
        grid = (-(-found[0].shape[0] // TILE),)
        launch(f"activations.{kernel}", grid, *given, *found, *numbers, TILE, like=like)
    return [each.reshape(like.shape) for each in found]


class OfTwo(Protocol):
    """Of a function of two arrays."""

    def __call__(self, gate: ArrayOf[A], up: AnyArray, /) -> A: ...


def _of_one(kernel: str) -> OfOne:
    def forward(x: ArrayOf[A]) -> tuple[A, Saved]:
        return _elements(kernel, x, 1, x)[0], (x,)

    def backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool]) -> Gradients:
        return tuple(_elements(f"{kernel}_backward", dout, 1, dout, *saved))

    return with_gradient(forward, backward)


def _gated(kernel: str) -> OfTwo:
    def forward(gate: ArrayOf[A], up: AnyArray) -> tuple[A, Saved]:
        return _elements(kernel, gate, 1, gate, up)[0], (gate, up)

    def backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool]) -> Gradients:
        return tuple(_elements(f"{kernel}_backward", dout, 2, dout, *saved))

    return with_gradient(forward, backward)


def _drop(x: ArrayOf[A], *, keep: float, seed: int, stream: int) -> A:
    return _elements("dropout", x, 1, x, numbers=(keep, stream, seed))[0]


def _drop_forward(x: ArrayOf[A], *, keep: float, seed: int, stream: int) -> tuple[A, Saved]:
    return _drop(x, keep=keep, seed=seed, stream=stream), ()


def _drop_backward(
    saved: Sequence[Array], dout: Array, wanted: Sequence[bool], *, keep: float, seed: int, stream: int
) -> Gradients:  # fmt: skip
    return (_drop(dout, keep=keep, seed=seed, stream=stream),)


_SILU: Final = _of_one("silu")
_GELU: Final = _of_one("gelu")
_RELU: Final = _of_one("relu")
_SILU_MUL: Final = _gated("silu_mul")
_GELU_MUL: Final = _gated("gelu_mul")
_DROPOUT: Final = with_gradient(_drop_forward, _drop_backward)


# ---------------------------------------------------------------------------------------------------------------- norms
# Normalisation along the last axis.  Statistics and sums are taken in float32, whatever the element types are.


WEIGHTS: Final = (16, 128)
"""Rows and columns of the tiles of what is added up over rows."""

WAVES: Final = 4
"""Blocks for each multiprocessor, of kernels whose blocks walk through the rows."""


def rms_norm(x: ArrayOf[A], weight: AnyArray, eps: float = 1e-6) -> A:
    """``x / sqrt(mean(x^2) + eps) * weight``; x (..., N), weight (N).

    >>> import numpy as np
    >>> from tileverify.kernels import rms_norm
    >>> x = np.array([[3.0, 4.0], [0.0, 2.0]], np.float32)
    >>> rms_norm(x, np.ones(2, np.float32), eps=0.0)
    array([[0.84852815, 1.1313709 ],
           [0.        , 1.4142135 ]], dtype=float32)
    """
    need(x.shape[-1:], weight=weight)
    return _RMS_NORM(x, weight, eps=eps)


@takes_jax
def add_rms_norm(x: ArrayOf[A], residual: AnyArray, weight: AnyArray, eps: float = 1e-6) -> tuple[A, A]:
    """``total = x + residual`` and `rms_norm` of it: (total, normed).  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import add_rms_norm
    >>> total, normed = add_rms_norm(*np.array([[1.0, 4.0], [2.0, 0.0]], np.float32), np.ones(2, np.float32), eps=0.0)
    >>> print(total, normed.round(4))
    [3. 4.] [0.8485 1.1314]
    """
    no_gradient("add_rms_norm", x=x, residual=residual, weight=weight)
    need(x.shape, residual=residual)
    need(x.shape[-1:], weight=weight)
    rows, others, weight = as_rows(x), as_rows(residual), contiguous(weight)
    total, out = empty(rows.shape, rows), empty(rows.shape, rows)
    kernel, grid, tile = _walk(rows)
    if any_of(rows):
        launch(f"norms.add_rms_norm{kernel}", grid, rows, others, weight, total, out, eps, *tile, like=x)
    return total.reshape(x.shape), out.reshape(x.shape)


def layer_norm(x: ArrayOf[A], weight: AnyArray, bias: AnyArray, eps: float = 1e-5) -> A:
    """``(x - mean) / sqrt(var(x) + eps) * weight + bias``; x (..., N), weight and bias (N).

    >>> import numpy as np
    >>> from tileverify.kernels import layer_norm
    >>> layer_norm(np.array([1.0, 3.0], np.float32), *np.ones((2, 2), np.float32), eps=0.0).tolist()
    [0.0, 2.0]
    """
    need(x.shape[-1:], weight=weight, bias=bias)
    return _LAYER_NORM(x, weight, bias, eps=eps)


# ---------------------------------------------------------------------------------------------------- rows
def _walk(rows: AnyArray) -> tuple[str, tuple[int, ...], tuple[int, int]]:
    """Which of the two kernels of `add_rms_norm`, its grid and its tile."""
    height, width = rows.shape
    if width > SHORT[1]:
        return "", blocks(rows, LONG), LONG
    tiles = -(-height // SHORT[0])
    return "_short", (max(1, min(tiles, WAVES * processors(rows))),), SHORT


def _partials(rows: AnyArray) -> tuple[int, tuple[int, int]]:
    """Groups of rows that are added up side by side, and the grid of it."""
    height, width = rows.shape
    groups = max(1, min(-(-height // WEIGHTS[0]), processors(rows)))
    return groups, (-(-width // WEIGHTS[1]), groups)


def _added_up(partials: AnyArray, like: Array) -> Array:
    """The sums of columns, in the type of the weights."""
    out = empty(like.shape, like)
    width = partials.shape[1]
    if width:
        launch("moving.column_sums", (-(-width // WEIGHTS[1]),), partials, out, *WEIGHTS, like=like)
    return out


# ------------------------------------------------------------------------------------------ root mean square
def _rms_forward(x: ArrayOf[A], weight: AnyArray, *, eps: float) -> tuple[A, Saved]:
    rows, weight = as_rows(x), contiguous(weight)
    out, rstd = empty(rows.shape, rows), empty(rows.shape[:1], rows, "f32")
    kernel, tile = holding(rows)
    if any_of(rows):
        launch(f"norms.rms_norm{kernel}", blocks(rows, tile), rows, weight, out, rstd, eps, *tile, like=x)
    return out.reshape(x.shape), (rows, weight, rstd)


def _rms_backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool], *, eps: float) -> Gradients:
    rows, weight, rstd = saved
    gradient = as_rows(dout)
    dx = dweight = None
    if wanted[0]:
        dx = empty(rows.shape, rows)
        if any_of(rows):
            launch("norms.rms_norm_backward", blocks(rows, LONG), gradient, rows, weight, rstd, dx, *LONG, like=rows)
        dx = dx.reshape(dout.shape)
    if wanted[1]:
        groups, grid = _partials(rows)
        partials = empty((groups, rows.shape[1]), rows, "f32")
        if rows.shape[1]:
            launch("norms.rms_norm_weight_partials", grid, gradient, rows, rstd, partials, *WEIGHTS, like=rows)
        dweight = _added_up(partials, weight)
    return dx, dweight


_RMS_NORM: Final = with_gradient(_rms_forward, _rms_backward)


# --------------------------------------------------------------------------------------------- layer norm
def _layer_forward(x: ArrayOf[A], weight: AnyArray, bias: AnyArray, *, eps: float) -> tuple[A, Saved]:
    rows, weight, bias = as_rows(x), contiguous(weight), contiguous(bias)
    out, mean, rstd = empty(rows.shape, rows), *(empty(rows.shape[:1], rows, "f32") for _ in range(2))
    kernel, tile = holding(rows)
    if any_of(rows):
        arguments = (rows, weight, bias, out, mean, rstd, eps, *tile)
        launch(f"norms.layer_norm{kernel}", blocks(rows, tile), *arguments, like=x)
    return out.reshape(x.shape), (rows, weight, mean, rstd)


def _layer_backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool], *, eps: float) -> Gradients:
    rows, weight, mean, rstd = saved
    gradient = as_rows(dout)
    dx = dweight = dbias = None
    if wanted[0]:
        dx = empty(rows.shape, rows)
        if any_of(rows):
            given = (gradient, rows, weight, mean, rstd, dx, *LONG)
            launch("norms.layer_norm_backward", blocks(rows, LONG), *given, like=rows)
        dx = dx.reshape(dout.shape)
    if wanted[1] or wanted[2]:
        groups, grid = _partials(rows)
        partials = [empty((groups, rows.shape[1]), rows, "f32") for _ in range(2)]
        if rows.shape[1]:
            arguments = (gradient, rows, mean, rstd, *partials, *WEIGHTS)
            launch("norms.layer_norm_weight_partials", grid, *arguments, like=rows)
        dweight, dbias = (_added_up(each, weight) for each in partials)
    return dx, dweight, dbias


_LAYER_NORM: Final = with_gradient(_layer_forward, _layer_backward)
