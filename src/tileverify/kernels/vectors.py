"""Products of weights with one vector or a few, as in decoding.  None of these functions has a gradient.

Weights are (N, K), rows along K.  Sums are taken in float32.  Up to eight vectors share a reading of the weights.
"""

from __future__ import annotations

from typing import Final

from .array_types import A, AnyArray, ArrayOf
from .arrays import contiguous, empty, need
from .gradients import no_gradient
from .jax_arrays import takes_jax
from .needs import need_axes, need_type
from .norms import rms_norm
from .prepared import launch
from .rows import as_rows

ONE: Final = (8, 512)
"""Rows and columns of weights in a tile, for one vector."""

FEW: Final = (8, 4, 256)
"""Vectors, and rows and columns of weights in a tile, for several."""

FEW_GATED: Final = (8, 4, 128)
"""The same where there are two products."""

PRODUCT: Final = ("matvec", "matvecs", FEW)
GATED: Final = ("matvec_gated", "matvecs_gated", FEW_GATED)
"""Kernels for one vector and for several, and the tiles of the latter."""


@takes_jax
def matvec(x: ArrayOf[A], weights: AnyArray, residual: AnyArray | None = None) -> A:
    """``x weightsᵀ``, and ``+ residual`` if there is one; x (..., K), weights (N, K), residual and the result (..., N).

    >>> import numpy as np
    >>> from tileverify.kernels import matvec
    >>> x, weights = np.array([1.0, 2.0], np.float32), np.array([[1.0, 1.0], [0.0, 3.0]], np.float32)
    >>> matvec(x, weights).tolist(), matvec(x, weights, residual=x).tolist()
    ([3.0, 6.0], [4.0, 8.0])
    """
    _need_weights("matvec", x, weights=weights)
    if residual is None:
        return _of_rows(*PRODUCT, as_rows(x), x.shape[:-1], (), (weights,))
    no_gradient("matvec", residual=residual)
    need((*x.shape[:-1], weights.shape[0]), residual=residual)
    return _of_rows("matvec_add", "matvecs_add", FEW, as_rows(x), x.shape[:-1], (residual,), (weights,))


@takes_jax
def matvec_gated(x: ArrayOf[A], gates: AnyArray, weights: AnyArray) -> A:
    """``silu(x gatesᵀ) * (x weightsᵀ)``; x (..., K), gates and weights (N, K).  Gives (..., N).

    >>> import numpy as np
    >>> from tileverify.kernels import matvec_gated
    >>> x, ones = np.array([2.0], np.float32), np.ones((1, 1), np.float32)
    >>> print(matvec_gated(x, ones, ones / 4).round(4))
    [0.8808]
    """
    _need_weights("matvec_gated", x, gates=gates, weights=weights)
    return _of_rows(*GATED, as_rows(x), x.shape[:-1], (), (gates, weights))


@takes_jax
def matvec_normed(x: ArrayOf[A], scales: AnyArray, weights: AnyArray, eps: float = 1e-6) -> A:
    """`matvec` of `rms_norm`, in one launch for one vector; x (..., K), scales (K), weights (N, K).  Gives (..., N).

    >>> import numpy as np
    >>> from tileverify.kernels import matvec_normed
    >>> x, ones = np.array([3.0, 4.0], np.float32), np.ones(2, np.float32)
    >>> print(matvec_normed(x, ones, np.eye(2, dtype=np.float32), eps=0.0).round(4))
    [0.8485 1.1314]
    """
    _need_weights("matvec_normed", x, weights=weights)
    return _normed("matvec_normed", PRODUCT, x, scales, (weights,), eps)


@takes_jax
def matvec_normed_gated(x: ArrayOf[A], scales: AnyArray, gates: AnyArray, weights: AnyArray, eps: float = 1e-6) -> A:
    """`matvec_gated` of `rms_norm`, in one launch for one vector: the first half of a feed-forward layer.

    x (..., K), scales (K), gates and weights (N, K).  Gives (..., N).

    >>> import numpy as np
    >>> from tileverify.kernels import matvec_normed_gated
    >>> x, ones = np.array([3.0], np.float32), np.ones(1, np.float32)
    >>> print(matvec_normed_gated(x, 2 * ones, ones[:, None], ones[:, None] / 4, eps=0.0).round(4))
    [0.8808]
    """
    _need_weights("matvec_normed_gated", x, gates=gates, weights=weights)

    return _normed("matvec_normed_gated", GATED, x, scales, (gates, weights), eps)


@takes_jax
def matvec_experts(x: ArrayOf[A], weights: AnyArray, experts: AnyArray) -> A:
    """``weights[experts[c]] x[c]``, and zeros where there is no such expert; x (C, K), weights (E, N, K).

    experts (C), i32.  Gives (C, N).

    >>> import numpy as np
    >>> from tileverify.kernels import matvec_experts
    >>> x, weights = np.array([[2.0], [3.0]], np.float32), np.array([[[1.0]], [[10.0]]], np.float32)
    >>> matvec_experts(x, weights, np.array([1, -1], np.int32)).tolist()
    [[20.0], [0.0]]
    """
    no_gradient("matvec_experts", x=x, weights=weights)
    need_axes("(C, K)", x=x)
    need_axes("(E, N, K)", weights=weights)
    need((*weights.shape[:2], x.shape[1]), weights=weights)
    need(x.shape[:1], experts=experts)
    need_type("i32", experts=experts)
    out = empty((x.shape[0], weights.shape[1]), x)
    if 0 not in out.shape:
        grid = (-(-out.shape[1] // ONE[0]), out.shape[0])
        given = (contiguous(x), contiguous(weights), contiguous(experts), out, *ONE)
        launch("vectors.matvec_experts", grid, *given, like=x)
    return out


# ------------------------------------------------------------------------------------------------- launches
def _need_weights(function: str, x: AnyArray, **weights: AnyArray) -> None:
    no_gradient(function, x=x, **weights)
    need_axes("(..., K)", x=x)
    need_axes("(N, K)", **weights)
    rows = next(iter(weights.values())).shape[0]
    need((rows, x.shape[-1]), **weights)


def _of_rows(
    one: str, few: str, few_tiles: tuple[int, int, int],
    rows: A, axes: tuple[int, ...], others: tuple[AnyArray, ...], weights: tuple[AnyArray, ...],
) -> A:  # fmt: skip
    """``one`` for one vector, and ``few`` for several; ``axes``: the vectors'; ``others``: arrays like the result."""
    matrices, beside = [contiguous(each) for each in weights], [as_rows(each) for each in others]
    count, size = rows.shape[0], matrices[0].shape[0]
    out = empty((count, size), rows)
    if count == 1 and size:
        flat = [*(each.reshape((-1,)) for each in beside), out.reshape((-1,))]
        launch(f"vectors.{one}", (-(-size // ONE[0]),), rows.reshape((-1,)), *matrices, *flat, *ONE, like=rows)
    elif size:
        grid = (-(-size // few_tiles[1]),)
        for first in range(0, count, few_tiles[0]):
            part = slice(first, first + few_tiles[0])
            given = (rows[part], *matrices, *(each[part] for each in beside), out[part])
            launch(f"vectors.{few}", grid, *given, *few_tiles, like=rows)
    return out.reshape((*axes, size))


def _normed(
    kernel: str, wide: tuple[str, str, tuple[int, int, int]],
    x: ArrayOf[A], scales: AnyArray, weights: tuple[AnyArray, ...], eps: float,
) -> A:  # fmt: skip
    """``wide``: what `_of_rows` takes after the norm of several vectors, and of one where there are no elements."""
    no_gradient(kernel, scales=scales)
    need(x.shape[-1:], scales=scales)
    rows, size = as_rows(x), weights[0].shape[0]
    if rows.shape[0] != 1 or 0 in weights[0].shape:
        return _of_rows(*wide, as_rows(rms_norm(x, scales, eps)), x.shape[:-1], (), weights)
    out = empty((size,), rows)
    given = (rows.reshape((-1,)), contiguous(scales), *(contiguous(each) for each in weights), out, eps, *ONE)
    launch(f"vectors.{kernel}", (-(-size // ONE[0]),), *given, like=x)
    return out.reshape((*x.shape[:-1], size))
