"""Products of many matrices in one launch, added up in float32; the result has the elements of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..system.errors import UsageError
from .array_types import A, AnyArray, ArrayOf
from .arrays import contiguous, filled, need, processors, value_of
from .gradients import no_gradient
from .jax_arrays import takes_jax
from .needs import need_axes, need_type
from .prepared import launch
from .products import FLOATS

LISTED: Final = (64, 64, 32)
TILE: Final = (64, 128, 64)
"""Rows and columns of a tile of the result, and what is taken along the axis that is added up."""

ROWS: Final = TILE[0]
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
        grid = -(-rows // TILE[0]), -(-weights.shape[1] // TILE[1])
        given = (contiguous(x), contiguous(weights), contiguous(experts))
        launch("grouped_products.matmul_experts", grid, *given, out, *TILE, like=x)
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
        grid = -(-rows // TILE[0]), -(-weights.shape[1] // TILE[1]), weights.shape[0]
        given = (contiguous(x), contiguous(weights), contiguous(offsets))
        facts = ["nondecreasing(offsets)", "range(offsets, 0, x.shape[0] + 1)"]
        launch("grouped_products.matmul_segments", grid, *given, out, *TILE, like=x, data=facts)
    return out


def _like_rows(x: AnyArray, weights: AnyArray) -> int:
    """How many rows there are; raises `UsageError` for weights of other sizes or elements."""
    need_axes("(E, N, K)", weights=weights)
    need((*weights.shape[:2], x.shape[1]), weights=weights)
    need_type(*FLOATS, x=x)
    need_type(value_of(x).dtype, weights=weights)
    return int(x.shape[0])
