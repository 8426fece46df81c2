"""Matrix products.  They are added up in float32, and the result has the elements of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, overload

from ..system.errors import UsageError
from .array_types import A, AnyArray, Array, ArrayOf, B, NumPyArray
from .arrays import as_made, contiguous, empty, filled, need, overwrite, processors, shape_of, value_of
from .gradients import Gradients, Saved, no_gradient, with_gradient
from .jax_arrays import takes_jax
from .needs import need_axes, need_type
from .prepared import launch
from .rows import as_rows

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
