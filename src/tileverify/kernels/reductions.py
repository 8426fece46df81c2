"""Sums, means and maxima along an axis, taken in float32.  None of these functions has a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, overload

from .arrays import (
    LONG,
    A,
    AnyArray,
    Array,
    ArrayOf,
    Float32s,
    NumPyArray,
    any_of,
    as_rows,
    blocks,
    contiguous,
    empty,
    holding,
    need,
    need_axes,
    processors,
    takes_jax,
)
from .moving import fill
from .prepared import Gradients, Saved, launch, no_gradient, with_gradient

ROWS: Final = (4, 512)
"""Rows and columns of the tiles in which a block walks along its rows."""

COLUMNS: Final = (16, 128)
"""Rows and columns of the tiles in which a block walks down its columns."""

WAVES: Final = 2
"""Blocks for each multiprocessor where rows are added up in groups."""


@takes_jax
def row_sums(x: ArrayOf[A]) -> A:
    """``sum(x)`` along the last axis; x (..., N), gives (...).

    >>> import numpy as np
    >>> from tileverify.kernels import row_sums
    >>> row_sums(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)).tolist()
    [3.0, 7.0]
    """
    return _along_rows("row_sums", x, 0.0)


@takes_jax
def row_means(x: ArrayOf[A]) -> A:
    """``mean(x)`` along the last axis, no number where that is empty; x (..., N), gives (...).

    >>> import numpy as np
    >>> from tileverify.kernels import row_means
    >>> row_means(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)).tolist()
    [1.5, 3.5]
    """
    return _along_rows("row_means", x, float("nan"))


@takes_jax
def row_maxima(x: ArrayOf[A]) -> A:
    """``max(x)`` along the last axis, minus infinity where that is empty; x (..., N), gives (...).

    >>> import numpy as np
    >>> from tileverify.kernels import row_maxima
    >>> row_maxima(np.array([[1.0, 2.0], [4.0, 3.0]], np.float32)).tolist()
    [2.0, 4.0]
    """
    return _along_rows("row_maxima", x, -float("inf"))


@takes_jax
def column_sums(x: ArrayOf[A]) -> A:
    """``sum(x)`` along all axes but the last, on one device always in the same order; x (..., N), gives (N).

    >>> import numpy as np
    >>> from tileverify.kernels import column_sums
    >>> column_sums(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)).tolist()
    [4.0, 6.0]
    """
    no_gradient("column_sums", x=x)
    need_axes("(..., N)", x=x)
    rows = as_rows(x)
    out = empty(x.shape[-1:], x)
    height, width = rows.shape
    if not height or not width:
        fill(out, 0.0)
        return out
    across = -(-width // COLUMNS[1])
    groups = min(-(-height // COLUMNS[0]), -(-WAVES * processors(x) // across))
    if groups > 1:
        partials = empty((groups, width), x, "f32")
        launch("moving.column_sum_partials", (across, groups), rows, partials, *COLUMNS, like=x)
        rows = partials
    launch("moving.column_sums", (across,), rows, out, *COLUMNS, like=x)
    return out


def _along_rows(kernel: str, x: ArrayOf[A], of_none: float) -> A:
    """``of_none``: what comes out of an empty row."""
    no_gradient(kernel, x=x)
    need_axes("(..., N)", x=x)
    height, width = prod(x.shape[:-1]), x.shape[-1]
    out = empty((height,), x)
    if not width:
        fill(out, of_none)
    elif height:
        launch(f"moving.{kernel}", (-(-height // ROWS[0]),), as_rows(x), out, *ROWS, like=x)
    return out.reshape(x.shape[:-1])


# -------------------------------------------------------------------------------------------------------- distributions
# Softmax, its logarithm and cross entropy along the last axis, computed in float32.


def softmax(x: ArrayOf[A]) -> A:
    """``exp(x) / sum(exp(x))``; x (..., N).

    >>> import numpy as np
    >>> from tileverify.kernels import softmax
    >>> print(softmax(np.log(np.array([[1.0, 3.0]], np.float32))).round(4))
    [[0.25 0.75]]
    """
    return _SOFTMAX(x)


def log_softmax(x: ArrayOf[A]) -> A:
    """``x - log(sum(exp(x)))``; x (..., N).

    >>> import numpy as np
    >>> from tileverify.kernels import log_softmax
    >>> print(log_softmax(np.zeros((1, 2), np.float32)).round(4))
    [[-0.6931 -0.6931]]
    """
    return _LOG_SOFTMAX(x)


@overload
def cross_entropy(logits: NumPyArray, labels: NumPyArray) -> Float32s: ...
@overload
def cross_entropy(logits: ArrayOf[A], labels: AnyArray) -> A: ...
def cross_entropy(logits: AnyArray, labels: AnyArray) -> Array:
    """``log(sum(exp(logits))) - logits[label]`` for each row, in float32; 0 where the label is negative.

    logits (..., V); labels (...), integers below V.

    >>> import numpy as np
    >>> from tileverify.kernels import cross_entropy
    >>> print(cross_entropy(np.zeros((2, 2), np.float32), np.array([1, -1])).round(4))
    [0.6931 0.    ]
    """
    need(logits.shape[:-1], labels=labels)
    return _CROSS_ENTROPY(logits, labels)


# ------------------------------------------------------------------------------------------------- softmax
def _softmax_forward(x: ArrayOf[A]) -> tuple[A, Saved]:
    rows = as_rows(x)
    out = empty(rows.shape, rows)
    kernel, tile = holding(rows)
    if any_of(rows):
        launch(f"softmax.softmax{kernel}", blocks(rows, tile), rows, out, *tile, like=x)
    return out.reshape(x.shape), (out,)


def _softmax_backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool]) -> Gradients:
    return (_of_output("softmax.softmax_backward", saved[0], dout),)


_SOFTMAX: Final = with_gradient(_softmax_forward, _softmax_backward)


def _log_forward(x: ArrayOf[A]) -> tuple[A, Saved]:
    rows = as_rows(x)
    out = empty(rows.shape, rows)
    if any_of(rows):
        launch("softmax.log_softmax", blocks(rows, LONG), rows, out, *LONG, like=x)
    return out.reshape(x.shape), (out,)


def _log_backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool]) -> Gradients:
    return (_of_output("softmax.log_softmax_backward", saved[0], dout),)


_LOG_SOFTMAX: Final = with_gradient(_log_forward, _log_backward)


def _of_output(kernel: str, out: Array, dout: Array) -> Array:
    """A gradient that is computed from the result."""
    dx = empty(out.shape, out)
    if any_of(out):
        launch(kernel, blocks(out, LONG), as_rows(dout), out, dx, *LONG, like=out)
    return dx.reshape(dout.shape)


# ------------------------------------------------------------------------------------------- cross entropy
def _loss_forward(logits: ArrayOf[A], labels: AnyArray) -> tuple[A, Saved]:
    rows, chosen = as_rows(logits), contiguous(labels).reshape((-1,))
    loss, lse = (empty(rows.shape[:1], rows, "f32") for _ in range(2))
    if any_of(rows):
        launch("softmax.cross_entropy", blocks(rows, LONG), rows, chosen, loss, lse, *LONG, like=logits)
    else:
        fill(loss, 0.0)
    return loss.reshape(labels.shape), (rows, chosen, lse)


def _loss_backward(saved: Sequence[Array], dloss: Array, wanted: Sequence[bool]) -> Gradients:
    rows, labels, lse = saved
    dlogits = empty(rows.shape, rows)
    if any_of(rows):
        grid = (-(-rows.shape[1] // LONG[1]), -(-rows.shape[0] // LONG[0]))
        arguments = (contiguous(dloss).reshape((-1,)), rows, labels, lse, dlogits, *LONG)
        launch("softmax.cross_entropy_backward", grid, *arguments, like=rows)
    return dlogits.reshape((*dloss.shape, rows.shape[1])), None


_CROSS_ENTROPY: Final = with_gradient(_loss_forward, _loss_backward)
