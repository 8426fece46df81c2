"""What follows the last layer: largest logits, and sampling.  None of these functions has a gradient.

Logits that are not numbers are never chosen; of equal ones the first is.  Places are i32.
"""

from __future__ import annotations

from math import prod
from typing import Final, overload

from ..system.errors import UsageError
from .arrays import (
    A,
    AnyArray,
    Array,
    ArrayOf,
    Float32s,
    Int32s,
    NumPyArray,
    as_rows,
    contiguous,
    empty,
    need,
    need_axes,
    need_number,
    need_type,
    takes_jax,
)
from .prepared import launch, no_gradient

HEAD: Final = (8, 4, 256)
"""Vectors that share a reading of the weights, and rows and columns of these in a tile."""

BLOCK: Final = 4096
"""Logits that a block looks at."""

MERGED: Final = 1024
"""Blocks whose largest logits are looked at together."""

CANDIDATES: Final = (2048, 64)
"""Elements that a block of `top_k` looks at, and how many of them it may keep."""


@overload
def head_argmax(x: NumPyArray, weights: NumPyArray) -> Int32s: ...
@overload
def head_argmax(x: ArrayOf[A], weights: AnyArray) -> A: ...
@takes_jax
def head_argmax(x: AnyArray, weights: AnyArray) -> Array:
    """``argmax(x weightsᵀ)`` along the last axis, without the logits in memory.

    x (..., K), weights (N, K), gives (...).  Eight vectors share a reading of the weights.

    >>> import numpy as np
    >>> from tileverify.kernels import head_argmax
    >>> head_argmax(np.array([[1.0, 1.0]], np.float32), np.array([[1.0, 2.0], [3.0, 1.0]], np.float32)).tolist()
    [1]
    """
    no_gradient("head_argmax", x=x, weights=weights)
    need_axes("(..., K)", x=x)
    need_axes("(N, K)", weights=weights)
    need((weights.shape[0], x.shape[-1]), weights=weights)
    _need_any("weights", weights.shape[0])
    rows, weights = as_rows(x), contiguous(weights)
    blocks = -(-weights.shape[0] // HEAD[1])
    maxima, places = empty((rows.shape[0], blocks), rows, "f32"), empty((rows.shape[0], blocks), rows, "i32")
    for first in range(0, rows.shape[0], HEAD[0]):
        part = slice(first, first + HEAD[0])
        launch("head.head_argmax", (blocks,), rows[part], weights, maxima[part], places[part], *HEAD, like=x)
    return _merged(maxima, places).reshape(x.shape[:-1])


@overload
def argmax(logits: NumPyArray) -> Int32s: ...
@overload
def argmax(logits: ArrayOf[A]) -> A: ...
@takes_jax
def argmax(logits: AnyArray) -> Array:
    """Where the largest along the last axis is; logits (..., N), gives (...).

    >>> import numpy as np
    >>> from tileverify.kernels import argmax
    >>> argmax(np.array([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]], np.float32)).tolist()
    [1, 0]
    """
    no_gradient("argmax", logits=logits)
    need_axes("(..., N)", logits=logits)
    _need_any("logits", logits.shape[-1])
    rows = as_rows(logits)
    blocks = -(-rows.shape[1] // BLOCK)
    maxima, places = empty((rows.shape[0], blocks), rows, "f32"), empty((rows.shape[0], blocks), rows, "i32")
    if rows.shape[0]:
        launch("head.argmax_blocks", (blocks, rows.shape[0]), rows, maxima, places, BLOCK, like=logits)
    return _merged(maxima, places).reshape(logits.shape[:-1])


@overload
def top_k(values: NumPyArray, k: int) -> tuple[Float32s, Int32s]: ...
@overload
def top_k(values: ArrayOf[A], k: int) -> tuple[A, A]: ...
@takes_jax
def top_k(values: AnyArray, k: int) -> tuple[Array, Array]:
    """The k largest along the last axis in falling order, in f32, and where they are; k up to 64.

    values (..., N), gives (..., k) twice.  Where N is less than k, minus infinity at -1 comes last.

    >>> import numpy as np
    >>> from tileverify.kernels import top_k
    >>> tops, places = top_k(np.array([1.0, 4.0, 2.0, 4.0], np.float32), 3)
    >>> tops.tolist(), places.tolist()
    ([4.0, 4.0, 2.0], [1, 3, 2])
    """
    no_gradient("top_k", values=values)
    need_axes("(..., N)", values=values)
    _need_any("values", values.shape[-1])
    need_number("k", k, 1, CANDIDATES[1])
    rows, height, kernel = as_rows(values), prod(values.shape[:-1]), "top_k_blocks"
    named: tuple[Array, ...] = ()
    while True:
        blocks = -(-rows.shape[1] // CANDIDATES[0])
        tops, places = empty((height, blocks, k), values, "f32"), empty((height, blocks, k), values, "i32")
        if height:
            launch(f"head.{kernel}", (blocks, height), rows, *named, tops, places, *CANDIDATES, like=values)
        if blocks == 1:
            return tops.reshape((*values.shape[:-1], k)), places.reshape((*values.shape[:-1], k))
        rows, named = tops.reshape((height, blocks * k)), (places.reshape((height, blocks * k)),)
        kernel = "top_k_merge"


@overload
def sample(logits: NumPyArray, uniforms: NumPyArray, temperature: float = 1.0) -> Int32s: ...
@overload
def sample(logits: ArrayOf[A], uniforms: AnyArray, temperature: float = 1.0) -> A: ...
@takes_jax
def sample(logits: AnyArray, uniforms: AnyArray, temperature: float = 1.0) -> Array:
    """The first i for which the powers ``exp(logits / temperature)`` up to i pass a share ``uniforms`` of their sum.

    logits (..., N); uniforms (...), f32 in [0, 1], drawn by the caller; temperature above 0.  Gives (...).

    >>> import numpy as np
    >>> from tileverify.kernels import sample
    >>> sample(np.zeros((2, 4), np.float32), np.array([0.1, 0.6], np.float32)).tolist()
    [0, 2]
    """
    no_gradient("sample", logits=logits)
    need_axes("(..., N)", logits=logits)
    _need_any("logits", logits.shape[-1])
    need(logits.shape[:-1], uniforms=uniforms)
    need_type("f32", uniforms=uniforms)
    _need_positive(temperature)
    rows = as_rows(logits)
    out = empty(rows.shape[:1], rows, "i32")
    if rows.shape[0]:
        shares = contiguous(uniforms).reshape((-1,))
        launch("head.sample", rows.shape[:1], rows, shares, out, float(temperature), BLOCK, like=logits)
    return out.reshape(logits.shape[:-1])


@takes_jax
def sample_top(
    values: AnyArray, places: ArrayOf[A], uniforms: AnyArray, temperature: float = 1.0, top_p: float = 1.0
) -> A:
    """`sample` among candidates of `top_k`, of which the first are kept that hold a share ``top_p`` of the sum.

    values (..., K), f32 in falling order, and places (..., K), i32, with K up to 64; uniforms (...), f32 in [0, 1];
    temperature above 0.  At least the first is kept.  Gives one of the places for each, (...).

    >>> import numpy as np
    >>> from tileverify.kernels import sample_top, top_k
    >>> tops, uniforms = top_k(np.array([[0.0, 2.0, 1.0]], np.float32), 2), np.array([0.9], np.float32)
    >>> sample_top(*tops, uniforms).tolist(), sample_top(*tops, uniforms, top_p=0.5).tolist()
    ([2], [1])
    """
    no_gradient("sample_top", values=values)
    need_axes("(..., K)", values=values)
    need(values.shape, places=places)
    need(values.shape[:-1], uniforms=uniforms)
    need_type("f32", values=values, uniforms=uniforms)
    need_type("i32", places=places)
    need_number("K", values.shape[-1], 1, CANDIDATES[1])
    _need_positive(temperature)
    rows = as_rows(values)
    out = empty(rows.shape[:1], places, "i32")
    if rows.shape[0]:
        given = (rows, as_rows(places), contiguous(uniforms).reshape((-1,)), out, float(temperature), float(top_p))
        launch("head.sample_top", rows.shape[:1], *given, CANDIDATES[1], like=values)
    return out.reshape(values.shape[:-1])


def _merged(maxima: A, places: AnyArray) -> A:
    """Where the largest of each row is."""
    out = empty(maxima.shape[:1], maxima, "i32")
    if out.shape[0]:
        launch("head.argmax_merge", out.shape, maxima, places, out, MERGED, like=maxima)
    return out


def _need_any(name: str, size: int) -> None:
    if not size:
        raise UsageError(f"`{name}` has nothing to choose from")


def _need_positive(temperature: float) -> None:
    if not temperature > 0:
        raise UsageError(f"`temperature` is {temperature}, and it takes more than 0; `argmax` is what 0 would mean")
