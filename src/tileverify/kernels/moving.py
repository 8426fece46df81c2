"""What moves numbers: rows of tables, stacks of layers, other orders of axes and other element types."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, overload

from ..system.errors import UsageError
from .arrays import (
    A,
    AnyArray,
    Array,
    ArrayOf,
    NumPyArray,
    contiguous,
    dtype_of,
    empty,
    need,
    need_axes,
    need_number,
    need_packed,
    need_type,
    need_writable,
    takes_jax,
    value_of,
)
from .prepared import Gradients, OfOne, Saved, launch, no_gradient, with_gradient

TILE: Final = 2048
"""Elements that a block moves, where arrays are taken as one row."""

EMBEDDED: Final = 1024
"""Elements of a row that a block of `embedding` moves."""

GATHERED: Final = (8, 256)
"""Rows and columns that a block of `gather_rows` moves."""

SQUARE: Final = (64, 64)
"""Rows and columns that a block of `transpose` moves."""

SWAPPED: Final = (8, 8, 64)
"""Rows, heads and numbers that a block of `swap_heads` moves at a time."""

FLOATS: Final = ("bf16", "f16", "f32")
INDICES: Final = ("i32", "i64")


@takes_jax
def embedding(table: ArrayOf[A], ids: AnyArray) -> A:
    """``table[ids]``; table (V, N), ids (...), i32 or i64 in [0, V).  Gives (..., N); it has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import embedding
    >>> embedding(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.array([1, 0, 1], np.int32)).tolist()
    [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
    """
    no_gradient("embedding", table=table)
    need_axes("(V, N)", table=table)
    need_type(*INDICES, ids=ids)
    places, width = contiguous(ids).reshape((-1,)), table.shape[1]
    out = empty((places.shape[0], width), table)
    if 0 not in out.shape:
        grid = (-(-width // EMBEDDED), places.shape[0])
        inside = ("range(ids, 0, table.shape[0])",)
        launch("moving.embedding", grid, contiguous(table), places, out, EMBEDDED, like=table, data=inside)
    return out.reshape((*ids.shape, width))


@takes_jax
def gather_rows(x: ArrayOf[A], rows: AnyArray) -> A:
    """``x[rows]``, and zeros where ``x`` has no such row, as for -1; x (M, N), rows (...), i32 or i64.

    Gives (..., N); it has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import gather_rows
    >>> gather_rows(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.array([1, -1], np.int32)).tolist()
    [[3.0, 4.0], [0.0, 0.0]]
    """
    no_gradient("gather_rows", x=x)
    need_axes("(M, N)", x=x)
    need_type(*INDICES, rows=rows)
    places, width = contiguous(rows).reshape((-1,)), x.shape[1]
    out = empty((places.shape[0], width), x)
    if 0 not in out.shape:
        grid = (-(-width // GATHERED[1]), -(-places.shape[0] // GATHERED[0]))
        launch("moving.gather_rows", grid, contiguous(x), places, out, *GATHERED, like=x)
    return out.reshape((*rows.shape, width))


def to_stack(x: AnyArray, stack: AnyArray, layer: int) -> None:
    """``stack[layer] = x``, where it is; x (...), stack (L, ...), layer in [0, L - 1].  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import to_stack
    >>> stack = np.zeros((2, 3), np.float32)
    >>> to_stack(np.array([1.0, 2.0, 3.0], np.float32), stack, 1)
    >>> stack.tolist()
    [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]
    """
    no_gradient("to_stack", x=x, stack=stack)
    need_writable(stack=stack)
    need_axes("(L, ...)", stack=stack)
    need((*stack.shape[:1], *x.shape), stack=stack)
    need_packed(stack=stack)
    need_number("layer", layer, 0, stack.shape[0] - 1)
    size = prod(x.shape)
    if size:
        flat, layers = contiguous(x).reshape((size,)), stack.reshape((stack.shape[0], size))
        launch("moving.to_stack", _blocks(size), flat, layers, layer, TILE, like=stack)


@takes_jax
def from_stack(stack: ArrayOf[A], layer: int) -> A:
    """A copy of ``stack[layer]``; stack (L, ...), layer in [0, L - 1].  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import from_stack
    >>> from_stack(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), 1).tolist()
    [3.0, 4.0]
    """
    no_gradient("from_stack", stack=stack)
    need_axes("(L, ...)", stack=stack)
    need_number("layer", layer, 0, stack.shape[0] - 1)
    size = prod(stack.shape[1:])
    out = empty((size,), stack)
    if size:
        layers = contiguous(stack).reshape((stack.shape[0], size))
        launch("moving.from_stack", _blocks(size), layers, out, layer, TILE, like=stack)
    return out.reshape(stack.shape[1:])


def transpose(x: ArrayOf[A]) -> A:
    """``out[n, m] = x[m, n]``, moved; x (M, N).

    >>> import numpy as np
    >>> from tileverify.kernels import transpose
    >>> transpose(np.array([[1.0, 2.0, 3.0]], np.float32)).tolist()
    [[1.0], [2.0], [3.0]]
    """
    need_axes("(M, N)", x=x)
    return _TRANSPOSE(x)


def swap_heads(x: ArrayOf[A]) -> A:
    """``out[b, h, r] = x[b, r, h]``, moved: splits rows into heads, or joins them; x (B, R, H, D).

    >>> import numpy as np
    >>> from tileverify.kernels import swap_heads
    >>> swap_heads(np.array([[[[1.0], [2.0]], [[3.0], [4.0]]]], np.float32)).ravel().tolist()
    [1.0, 3.0, 2.0, 4.0]
    """
    need_axes("(B, R, H, D)", x=x)
    return _SWAP_HEADS(x)


@overload
def cast(x: NumPyArray, dtype: str) -> NumPyArray: ...
@overload
def cast(x: ArrayOf[A], dtype: str) -> A: ...
def cast(x: AnyArray, dtype: str) -> AnyArray:
    """``x`` in another element type: ``"bf16"``, ``"f16"`` or ``"f32"``, rounded to nearest; ``x`` itself if it has it.

    >>> import numpy as np
    >>> from tileverify.kernels import cast
    >>> cast(np.array([1.5, 1e5], np.float32), "f16").tolist()
    [1.5, inf]
    """
    need_type(*FLOATS, x=x)
    if dtype not in FLOATS:
        raise UsageError(f"`dtype` is {dtype!r}, and it takes {' or '.join(FLOATS)}")
    return x if dtype_of(x) == dtype else _CAST(x, dtype=dtype)


def fill(out: AnyArray, value: float) -> None:
    """``out = value``, where it is; out (...).  It has no gradient.

    >>> import numpy as np
    >>> from tileverify.kernels import fill
    >>> x = np.zeros(3, np.float32)
    >>> fill(x, 1.5)
    >>> x.tolist()
    [1.5, 1.5, 1.5]
    """
    no_gradient("fill", out=out)
    need_writable(out=out)
    need_packed(out=out)
    need_type(*FLOATS, out=out)
    size = prod(out.shape)
    if size:
        launch("moving.fill", _blocks(size), out.reshape((size,)), float(value), TILE, like=out)


# ------------------------------------------------------------------------------------------------- launches
def _blocks(size: int) -> tuple[int]:
    return (-(-size // TILE),)


def _transposed(x: ArrayOf[A]) -> A:
    out = empty((x.shape[1], x.shape[0]), x)
    if 0 not in x.shape:
        grid = (-(-x.shape[1] // SQUARE[1]), -(-x.shape[0] // SQUARE[0]))
        launch("moving.transpose", grid, contiguous(x), out, *SQUARE, like=x)
    return out


def _swapped(x: ArrayOf[A]) -> A:
    batch, rows, heads, width = x.shape
    out = empty((batch, heads, rows, width), x)
    if 0 not in x.shape:
        grid = (-(-heads // SWAPPED[1]), -(-rows // SWAPPED[0]), batch)
        launch("moving.swap_heads", grid, contiguous(x), out, *SWAPPED, like=x)
    return out


def _own_inverse(function: OfOne) -> OfOne:
    """A permutation of axes that, done twice, changes nothing."""

    def forward(x: ArrayOf[A]) -> tuple[A, Saved]:
        return function(x), ()

    def backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool]) -> Gradients:
        return (function(dout),)

    return with_gradient(forward, backward)


def _converted(x: ArrayOf[A], dtype: str) -> A:
    size = prod(x.shape)
    out = empty((size,), x, dtype)
    if size:
        launch("moving.cast", _blocks(size), contiguous(x).reshape((size,)), out, TILE, like=x)
    return out.reshape(x.shape)


def _cast_forward(x: ArrayOf[A], *, dtype: str) -> tuple[A, Saved]:
    return _converted(x, dtype), (empty((0,), x),)


def _cast_backward(saved: Sequence[Array], dout: Array, wanted: Sequence[bool], *, dtype: str) -> Gradients:
    return (_converted(dout, value_of(saved[0]).dtype),)


_TRANSPOSE: Final = _own_inverse(_transposed)
_SWAP_HEADS: Final = _own_inverse(_swapped)
_CAST: Final = with_gradient(_cast_forward, _cast_backward)
