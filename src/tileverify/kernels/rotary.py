"""Rotary position embedding of queries and keys; angles come in tables, a row for each position that may occur."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, overload

from ..system.errors import UsageError
from .array_types import A, AnyArray, Array, ArrayOf, B
from .arrays import contiguous, empty, need, value_of
from .gradients import Gradients, Saved, no_gradient, with_gradient
from .jax_arrays import takes_jax
from .needs import need_axes, need_type, need_writable
from .prepared import launch

TILE_H: Final = 8
"""Heads that are taken at a time."""

IN_TABLES: Final = ("range(positions, 0, cos.shape[0])",)


def rope(
    q: ArrayOf[A], k: ArrayOf[B], cos: AnyArray, sin: AnyArray, positions: AnyArray
) -> tuple[A, B]:  # fmt: skip
    """``(low * cos - high * sin, high * cos + low * sin)`` for the halves of every head, at its token's position.

    q (..., HQ, 2 * HALF); k (..., HK, 2 * HALF); cos, sin (P, HALF), with a power of two as HALF; positions (...), i32
    in [0, P).  Gives both, turned.  Heads may be parts of one array that holds queries, keys and values side by side.

    >>> import numpy as np
    >>> from tileverify.kernels import rope
    >>> angles = np.array([[0.0], [np.pi / 2]], np.float32)
    >>> x = np.array([[[1.0, 2.0]], [[1.0, 2.0]]], np.float32)
    >>> q, k = rope(x, x, np.cos(angles), np.sin(angles), np.array([0, 1], np.int32))
    >>> q.round(4).tolist()
    [[[1.0, 2.0]], [[-2.0, 1.0]]]
    """
    need_axes("(..., H, 2 * HALF)", q=q, k=k)
    need((*q.shape[:-2], *k.shape[-2:-1], q.shape[-1]), k=k)
    need(q.shape[:-2], positions=positions)
    need_type("i32", positions=positions)
    need_tables(q.shape[-1], cos=cos, sin=sin)
    return _ROPE(q, k, cos, sin, positions)


def rope_in_place(x: AnyArray, cos: AnyArray, sin: AnyArray, positions: AnyArray) -> None:
    """`rope` that leaves its results where the heads were; x (T, H, 2 * HALF), positions (T).  It has no gradient.

    Where one product made queries, keys and values side by side, ``x`` may be its part without the values.

    >>> import numpy as np
    >>> from tileverify.kernels import rope_in_place
    >>> x, angle = np.array([[[1.0, 2.0]]], np.float32), np.full((1, 1), np.pi / 2, np.float32)
    >>> rope_in_place(x, np.cos(angle), np.sin(angle), np.zeros(1, np.int32))
    >>> x.round(4).tolist()
    [[[-2.0, 1.0]]]
    """
    no_gradient("rope_in_place", x=x)
    need_writable(x=x)
    need_axes("(T, H, 2 * HALF)", x=x)
    need(x.shape[:1], positions=positions)
    need_type("i32", positions=positions)
    half = need_tables(x.shape[-1], cos=cos, sin=sin)
    if not _side_by_side(x):
        raise UsageError("`x` is written where it is, and the heads of a token do not lie side by side")
    if 0 not in x.shape:
        arguments = (contiguous(cos), contiguous(sin), contiguous(positions), x, TILE_H, half)
        launch("rope.rope_in_place", x.shape[:1], *arguments, like=x, data=IN_TABLES)


@takes_jax
def rope_from(
    q: ArrayOf[A], k: ArrayOf[B], cos: AnyArray, sin: AnyArray, start: AnyArray
) -> tuple[A, B]:  # fmt: skip
    """`rope` of sequences whose tokens follow each other from the position ``start[0]`` on.  It has no gradient.

    q (B, S, HQ, 2 * HALF); k (B, S, HK, 2 * HALF); cos, sin (P, HALF); start (1), i32 in [0, P - S].

    >>> import numpy as np
    >>> from tileverify.kernels import rope_from
    >>> angles = np.array([[0.0], [np.pi / 2]], np.float32)
    >>> x = np.array([[[[1.0, 2.0]]]], np.float32)
    >>> rope_from(x, x, np.cos(angles), np.sin(angles), np.array([1], np.int32))[0].round(4).tolist()
    [[[[-2.0, 1.0]]]]
    """
    no_gradient("rope_from", q=q, k=k)
    need_axes("(B, S, H, 2 * HALF)", q=q, k=k)
    need((*q.shape[:2], k.shape[2], q.shape[3]), k=k)
    need((1,), start=start)
    need_type("i32", start=start)
    half = need_tables(q.shape[-1], cos=cos, sin=sin)
    queries, keys = as_heads(q), as_heads(k)
    out = empty(queries.shape, queries), empty(keys.shape, keys)
    batch, length = q.shape[:2]
    if batch and length:
        arguments = (queries, keys, contiguous(cos), contiguous(sin), contiguous(start), *out, TILE_H, half)
        fits = "range(start, 0, cos.shape[0] - grid.x + 1)"
        launch("rope.rope_from", (length, batch), *arguments, like=q, data=(fits,))
    return out[0].reshape(q.shape), out[1].reshape(k.shape)


# --------------------------------------------------------------------------------------------------- heads
@overload
def as_heads(x: A) -> A: ...
@overload
def as_heads(x: ArrayOf[A]) -> A: ...
def as_heads(x: AnyArray) -> Array:
    """x (..., H, D) as (T, H, D), in which the heads of a token lie side by side; tokens may lie apart."""
    tokens = x.reshape((prod(x.shape[:-2]), *x.shape[-2:]))
    # Also of axes of one element, as contracts say what their strides are.
    usual = value_of(tokens).strides[1:] == (x.shape[-1], 1)
    return tokens if usual and _side_by_side(tokens) else contiguous(tokens)


def need_tables(width: int, **tables: AnyArray) -> int:
    """The half of a head of ``width`` numbers; raises `UsageError` for heads and tables that do not fit."""
    half = width // 2
    if width != 2 * half or half & (half - 1) or not half:
        raise UsageError(f"heads of {width} numbers cannot be turned: it takes twice a power of two")
    need_axes("(P, HALF)", **tables)
    rows = next(iter(tables.values())).shape[0]
    need((rows, half), **tables)
    return half


def _side_by_side(tokens: AnyArray) -> bool:
    value = value_of(tokens)
    (count, heads, width), (apart, head_apart, step) = value.shape, value.strides
    within = (width == 1 or step == 1) and (heads == 1 or head_apart == width)
    return 0 in value.shape or (within and (count == 1 or apart >= heads * width))


# ---------------------------------------------------------------------------------------------------- rope
def _turned(
    kernel: str, q: ArrayOf[A], k: ArrayOf[B], cos: AnyArray, sin: AnyArray, positions: AnyArray
) -> tuple[A, B]:  # fmt: skip
    queries, keys = as_heads(q), as_heads(k)
    out = empty(queries.shape, queries), empty(keys.shape, keys)
    if queries.shape[0]:
        places = contiguous(positions).reshape((-1,))
        arguments = (queries, keys, contiguous(cos), contiguous(sin), places, *out, TILE_H, q.shape[-1] // 2)
        launch(f"rope.{kernel}", queries.shape[:1], *arguments, like=q, data=IN_TABLES)
    return out[0].reshape(q.shape), out[1].reshape(k.shape)


def _forward(
    q: ArrayOf[A], k: ArrayOf[B], cos: AnyArray, sin: AnyArray, positions: AnyArray
) -> tuple[tuple[A, B], Saved]:  # fmt: skip
    return _turned("rope", q, k, cos, sin, positions), (cos, sin, positions)


def _backward(saved: Sequence[Array], douts: tuple[Array, Array], wanted: Sequence[bool]) -> Gradients:
    return *_turned("rope_backward", *douts, *saved), None, None, None


_ROPE: Final = with_gradient(_forward, _backward)
