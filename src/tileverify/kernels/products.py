"""Products of matrices, of many at once, and of weights with a few vectors; added up in float32."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, overload

from ..system.errors import UsageError
from .activations import rms_norm
from .arrays import (
    A,
    AnyArray,
    Array,
    ArrayOf,
    B,
    NumPyArray,
    as_made,
    as_rows,
    contiguous,
    empty,
    filled,
    need,
    need_axes,
    need_type,
    overwrite,
    processors,
    shape_of,
    takes_jax,
    value_of,
)
from .prepared import Gradients, Saved, launch, no_gradient, with_gradient

FLOATS: Final = ("bf16", "f16", "f32")

TILE: Final = (128, 128, 64)
"""Rows and columns of a tile of the result, and what is taken along the axis that is added up."""

GROUP: Final = 8
"""Rows of tiles that blocks take together."""

SHARE: Final = 4
"""Tiles along that axis that make it worth while to have a block of their own."""

SUMS: Final = (16, 256)
"""Rows and columns of the tiles in which shares are added up."""

SCALED: Final = (128, 128, 128)


def matmul(a: ArrayOf[A], b: AnyArray, residual: AnyArray | None = None, *, transposed: bool = False) -> A:
    """``a b``, or with ``transposed`` ``a bᵀ``, and ``+ residual`` if there is one.

    a (..., K) and b (K, N), or (N, K) with ``transposed``, as weights lie: the result is (..., N), and so is residual,
    for which a b that is not transposed is copied.  Or a (..., M, K) and b (..., K, N) with the same axes before, for
    products one by one; here b is copied if it is transposed, and there is no residual.

    Where the result has fewer tiles than the device has multiprocessors, K is split among blocks, and the parts are
    added up in their order: the result is always the same on a device, but not on all devices.

    >>> import numpy as np
    >>> from tileverify.kernels import matmul
    >>> x, weight = np.array([[1.0, 2.0]], np.float32), np.array([[3.0, 4.0], [5.0, 6.0], [0.0, 1.0]], np.float32)
    >>> matmul(x, weight, transposed=True).tolist()
    [[11.0, 17.0, 2.0]]
    """
    of_a, of_b = shape_of(a), shape_of(b)
    if not of_a or len(of_b) < 2:
        raise UsageError(f"the shapes {of_a} and {of_b} have no product: `a` needs an axis, and `b` two")
    columns = of_b[-2 if transposed else -1]
    own = (columns, of_a[-1]) if transposed else (of_a[-1], columns)
    if len(of_b) == 2:
        need(own, b=b)
        if residual is None:
            return _MATMUL(a, b, transposed=transposed)
        need((*of_a[:-1], columns), residual=residual)
        return _MATMUL_ADD(a, b, residual, transposed=transposed)
    need((*of_a[:-2], *own), b=b)
    if residual is not None:
        raise UsageError("a `residual` is added to a product with a `b` of two axes, and this one has more")
    return _MATMUL_BATCHED(a, b, transposed=transposed)


@overload
def matmul_scaled(a: NumPyArray, b: NumPyArray, a_scales: NumPyArray, b_scales: NumPyArray) -> NumPyArray: ...
@overload
def matmul_scaled(a: ArrayOf[A], b: AnyArray, a_scales: AnyArray, b_scales: AnyArray) -> A: ...
@takes_jax
def matmul_scaled(a: AnyArray, b: AnyArray, a_scales: AnyArray, b_scales: AnyArray) -> Array:
    """``a bᵀ`` of 8-bit floats (``f8e4m3``), whose elements are multiplied by scales; the result is bfloat16.

    a (M, K) and b (N, K); a_scales (M, K / 128), one for 128 elements of a row, and b_scales (N / 128, K / 128), one
    for 128 by 128 elements, both float32 and rounded up.  It has no gradient.

    >>> import ml_dtypes
    >>> import numpy as np
    >>> from tileverify.kernels import matmul_scaled
    >>> a, b = (np.zeros((rows, 128), ml_dtypes.float8_e4m3fn) for rows in (0, 8))
    >>> matmul_scaled(a, b, np.ones((0, 1), np.float32), np.ones((1, 1), np.float32)).shape
    (0, 8)
    """
    no_gradient("matmul_scaled", a_scales=a_scales, b_scales=b_scales)
    need_axes("(M, K)", a=a)
    need_axes("(N, K)", b=b)
    (rows, depth), (columns, _) = a.shape, b.shape
    need((columns, depth), b=b)
    need((rows, -(-depth // SCALED[2])), a_scales=a_scales)
    need((-(-columns // SCALED[1]), -(-depth // SCALED[2])), b_scales=b_scales)
    need_type("f8e4m3", a=a, b=b)
    need_type("f32", a_scales=a_scales, b_scales=b_scales)
    given = [contiguous(each) for each in (a, b, a_scales, b_scales)]
    if 0 in (rows, columns, depth):
        return filled((rows, columns), 0, a, "bf16")
    out = empty((rows, columns), a, "bf16")
    launch("products.matmul_scaled", _places(rows, columns), *given, out, *SCALED, like=a)
    return out


# ------------------------------------------------------------------------------------------------ products
def _places(rows: int, columns: int) -> tuple[int, int, int]:
    """The grid of kernels whose blocks take the tiles in groups of rows."""
    tiles = -(-rows // TILE[0])
    group = min(GROUP, tiles)
    return group, -(-columns // TILE[1]), -(-tiles // group)


def _splits(rows: int, columns: int, depth: int, like: object) -> int:
    """Blocks that share a tile of the result."""
    tiles = -(-rows // TILE[0]) * -(-columns // TILE[1])
    return max(1, min(processors(like) // tiles, -(-depth // TILE[2]) // SHARE))


def _product(a: A, b: AnyArray, *, transposed: bool) -> A:
    """Of packed arrays with two axes."""
    (rows, depth), columns = a.shape, b.shape[0 if transposed else 1]
    if 0 in (rows, columns, depth):
        return filled((rows, columns), 0, a)
    out, kernel = empty((rows, columns), a), "_transposed" if transposed else ""
    splits = _splits(rows, columns, depth, a)
    if splits == 1:
        launch(f"products.matmul{kernel}", _places(rows, columns), a, b, out, *TILE, like=a)
        return out
    parts = empty((splits, rows, columns), a, "f32")
    grid = -(-rows // TILE[0]), -(-columns // TILE[1]), splits
    launch(f"products.matmul{kernel}_splits", grid, a, b, parts, *TILE, like=a)
    launch("products.sum_splits", (-(-rows // SUMS[0]), -(-columns // SUMS[1])), parts, out, *SUMS, like=a)
    return out


def _operands(a: ArrayOf[A], b: ArrayOf[B]) -> tuple[A, B]:
    """Both packed, the first one as rows; raises `UsageError` for elements that are not alike."""
    need_type(*FLOATS, a=a)
    need_type(value_of(a).dtype, b=b)
    return as_rows(a), contiguous(b)


def _forward(a: ArrayOf[A], b: AnyArray, *, transposed: bool) -> tuple[A, Saved]:
    rows, other = _operands(a, b)
    out = _product(rows, other, transposed=transposed)
    return out.reshape((*a.shape[:-1], out.shape[1])), (rows, other)


def _backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool], *, transposed: bool) -> Gradients:
    rows, other = saved
    gradient = as_rows(dout)
    da = db = None
    if wanted[0]:
        da = _product(gradient, other, transposed=not transposed).reshape((*dout.shape[:-1], rows.shape[1]))
    if wanted[1]:
        left, right = (gradient, rows) if transposed else (rows, gradient)
        db = _product(contiguous(left.T), right, transposed=False)
    return da, db


_MATMUL: Final = with_gradient(_forward, _backward)


# ------------------------------------------------------------------------------------------------ residual
def _add_forward(a: ArrayOf[A], b: AnyArray, residual: AnyArray, *, transposed: bool) -> tuple[A, Saved]:
    rows, other = _operands(a, b)
    need_type(value_of(a).dtype, residual=residual)
    weights, added = other if transposed else contiguous(other.T), as_rows(residual)
    out = empty(added.shape, a)
    if 0 in (*rows.shape, *weights.shape):
        overwrite(out, added)
    else:
        launch("products.matmul_add", _places(*added.shape), rows, weights, added, out, *TILE, like=a)
    return out.reshape(residual.shape), (rows, other)


def _add_backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool], *, transposed: bool) -> Gradients:
    return (*_backward(saved, dout, wanted, transposed=transposed), dout if wanted[2] else None)


_MATMUL_ADD: Final = with_gradient(_add_forward, _add_backward)


# ------------------------------------------------------------------------------------------------- batches
def _turned(array: A) -> A:
    """With its last two axes exchanged, packed."""
    return contiguous(array.swapaxes(-1, -2))


def _batched_product(a: A, b: AnyArray) -> A:
    """Of packed arrays with three axes."""
    (batches, rows, depth), columns = a.shape, b.shape[2]
    if 0 in (batches, rows, columns, depth):
        return filled((batches, rows, columns), 0, a)
    out = empty((batches, rows, columns), a)
    grid = -(-rows // TILE[0]), -(-columns // TILE[1]), batches
    launch("products.matmul_batched", grid, a, b, out, *TILE, like=a)
    return out


def _batched_forward(a: ArrayOf[A], b: AnyArray, *, transposed: bool) -> tuple[A, Saved]:
    need_type(*FLOATS, a=a)
    need_type(value_of(a).dtype, b=b)
    batches = prod(a.shape[:-2])
    left = contiguous(a).reshape((batches, *a.shape[-2:]))
    right = _turned(as_made(b)) if transposed else contiguous(b)
    right = right.reshape((batches, *right.shape[-2:]))
    out = _batched_product(left, right)
    return out.reshape((*a.shape[:-1], out.shape[2])), (left, right)


def _batched_backward(
    saved: Sequence[Array], dout: Array, wanted: Sequence[bool], *, transposed: bool
) -> Gradients:  # fmt: skip
    left, right = saved
    batches = dout.shape[:-2]
    gradient = contiguous(dout).reshape((left.shape[0], *dout.shape[-2:]))
    da = db = None
    if wanted[0]:
        da = _batched_product(gradient, _turned(right)).reshape((*batches, *left.shape[1:]))
    if wanted[1]:
        pair = (_turned(gradient), left) if transposed else (_turned(left), gradient)
        product = _batched_product(*pair)
        db = product.reshape((*batches, *product.shape[1:]))
    return da, db


_MATMUL_BATCHED: Final = with_gradient(_batched_forward, _batched_backward)


# ----------------------------------------------------------------------------------------------------- grouped products
# Products of many matrices in one launch, added up in float32; the result has the elements of the operands.


LISTED: Final = (64, 64, 32)
GROUPED_TILE: Final = (64, 128, 64)
"""Rows and columns of a tile of the result, and what is taken along the axis that is added up."""

ROWS: Final = GROUPED_TILE[0]
"""Rows that have one expert in `matmul_experts`."""

WAVES: Final = 4
"""Blocks for each multiprocessor that walk over the tiles of one product of a list, at most."""


@takes_jax
def matmul_list(a: Sequence[ArrayOf[A]], b: Sequence[AnyArray]) -> list[A]:
    """``a[i] b[i]`` for lists of arrays (M, K) and (K, N), each i with sizes of its own.  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import matmul_list
    >>> a, b = ([np.ones(shape, np.float32) for shape in shapes] for shapes in ([(1, 2), (2, 3)], [(2, 2), (3, 1)]))
    >>> [product.tolist() for product in matmul_list(a, b)]
    [[[2.0, 2.0]], [[3.0], [3.0]]]
    """
    if len(a) != len(b):
        raise UsageError(f"`a` has {len(a)} arrays and `b` {len(b)}: each product takes one of both")
    for i, (one, other) in enumerate(zip(a, b, strict=True)):
        no_gradient("matmul_list", **{f"a[{i}]": one, f"b[{i}]": other})
        need_axes("(M, K)", **{f"a[{i}]": one})
        need_axes("(K, N)", **{f"b[{i}]": other})
        need((one.shape[1], other.shape[1]), **{f"b[{i}]": other})
        need_type(*FLOATS, **{f"a[{i}]": one})
        need_type(value_of(a[0]).dtype, **{f"a[{i}]": one, f"b[{i}]": other})
    out: list[A] = [filled((one.shape[0], other.shape[1]), 0, one) for one, other in zip(a, b, strict=True)]
    worth = [i for i, (one, made) in enumerate(zip(a, out, strict=True)) if 0 not in (*one.shape, *made.shape)]
    if worth:
        given = [[contiguous(each[i]) for i in worth] for each in (a, b)]
        found = [out[i] for i in worth]
        like = found[0]
        rows, columns = (max(-(-each.shape[axis] // LISTED[axis]) for each in found) for axis in range(2))
        columns = min(columns, WAVES * processors(like))
        rows = min(rows, max(1, WAVES * processors(like) // columns))
        launch("grouped_products.matmul_list", (rows, columns, len(worth)), *given, found, *LISTED, like=like)
    return out


@takes_jax
def matmul_experts(x: ArrayOf[A], weights: AnyArray, experts: AnyArray) -> A:
    """``x wᵀ`` with the weights of one expert for 64 rows each; 0 where the expert is no number from 0 to E - 1.

    x (R, K), weights (E, N, K), experts int32 (R / 64 rounded up); the result is (R, N).  It has no gradient.
    `place_tokens` gives rows to experts in this way.

    >>> import numpy as np
    >>> from tileverify.kernels import matmul_experts
    >>> x, weights = np.ones((65, 2), np.float32), np.array([[[1.0, 1.0]], [[2.0, 3.0]]], np.float32)
    >>> matmul_experts(x, weights, np.array([1, 0], np.int32))[[0, 64]].tolist()
    [[5.0], [2.0]]
    """
    no_gradient("matmul_experts", x=x, weights=weights)
    need_axes("(R, K)", x=x)
    rows = _like_rows(x, weights)
    need((-(-rows // ROWS),), experts=experts)
    need_type("i32", experts=experts)
    out = filled((rows, weights.shape[1]), 0, x)
    if 0 not in (*x.shape, *weights.shape):
        grid = -(-rows // GROUPED_TILE[0]), -(-weights.shape[1] // GROUPED_TILE[1])
        given = (contiguous(x), contiguous(weights), contiguous(experts))
        launch("grouped_products.matmul_experts", grid, *given, out, *GROUPED_TILE, like=x)
    return out


@takes_jax
def matmul_segments(x: ArrayOf[A], weights: AnyArray, offsets: AnyArray) -> A:
    """``x wᵀ`` with the weights of expert e for the rows ``offsets[e]`` to ``offsets[e + 1] - 1``; 0 for others.

    x (R, K), weights (E, N, K), offsets int32 (E + 1), which do not fall and lie in 0 to R: a launch with others is
    refused.  x and the result (R, N) have less than 2**31 elements each.  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import matmul_segments
    >>> x, weights = np.ones((3, 2), np.float32), np.array([[[1.0, 1.0]], [[2.0, 3.0]]], np.float32)
    >>> matmul_segments(x, weights, np.array([0, 1, 3], np.int32)).ravel().tolist()
    [2.0, 5.0, 5.0]
    """
    no_gradient("matmul_segments", x=x, weights=weights)
    need_axes("(R, K)", x=x)
    rows = _like_rows(x, weights)
    need((weights.shape[0] + 1,), offsets=offsets)
    need_type("i32", offsets=offsets)
    out = filled((rows, weights.shape[1]), 0, x)
    if 0 not in (*x.shape, *weights.shape):
        grid = -(-rows // GROUPED_TILE[0]), -(-weights.shape[1] // GROUPED_TILE[1]), weights.shape[0]
        given = (contiguous(x), contiguous(weights), contiguous(offsets))
        facts = ["nondecreasing(offsets)", "range(offsets, 0, x.shape[0] + 1)"]
        launch("grouped_products.matmul_segments", grid, *given, out, *GROUPED_TILE, like=x, data=facts)
    return out


def _like_rows(x: AnyArray, weights: AnyArray) -> int:
    """How many rows there are; raises `UsageError` for weights of other sizes or elements."""
    need_axes("(E, N, K)", weights=weights)
    need((*weights.shape[:2], x.shape[1]), weights=weights)
    need_type(*FLOATS, x=x)
    need_type(value_of(x).dtype, weights=weights)
    return int(x.shape[0])


# -------------------------------------------------------------------------------------------------------------- vectors
# Products of weights with one vector or a few, as in decoding.  None of these functions has a gradient.
#
# Weights are (N, K), rows along K.  Sums are taken in float32.  Up to eight vectors share a reading of the weights.


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
