"""Heads on their way to attention: norms, rotary embedding and what a cache keeps of keys and values, in one launch.

Caches lie as (batch, head, position, number) and are written where they are.  None of these functions has a gradient.
"""

from __future__ import annotations

from typing import Final

from ..system.errors import UsageError
from .array_types import A, AnyArray, ArrayOf, B
from .arrays import contiguous, empty, need
from .gradients import no_gradient
from .jax_arrays import takes_jax
from .needs import need_axes, need_number, need_packed, need_type, need_writable
from .prepared import launch
from .rotary import TILE_H, as_heads, need_tables

TILE_D: Final = 128
"""Numbers of a head that are taken at once, at least."""


@takes_jax
def qk_norm(q: ArrayOf[A], k: ArrayOf[B], q_weight: AnyArray, k_weight: AnyArray, eps: float = 1e-6) -> tuple[A, B]:
    """`rms_norm` of every head of queries and keys; q (..., HQ, D), k (..., HK, D), weights (D).

    >>> import numpy as np
    >>> from tileverify.kernels import qk_norm
    >>> q, k, ones = np.array([[[3.0, 4.0]]], np.float32), np.ones((1, 1, 2), np.float32), np.ones(2, np.float32)
    >>> print(qk_norm(q, k, ones, ones, eps=0.0)[0].round(4))
    [[[0.8485 1.1314]]]
    """
    no_gradient("qk_norm", q=q, k=k, q_weight=q_weight, k_weight=k_weight)
    need_axes("(..., H, D)", q=q, k=k)
    need((*q.shape[:-2], *k.shape[-2:-1], q.shape[-1]), k=k)
    need(q.shape[-1:], q_weight=q_weight, k_weight=k_weight)
    queries, keys = as_heads(q), as_heads(k)
    out = empty(queries.shape, queries), empty(keys.shape, keys)
    if queries.shape[0] and q.shape[-1]:
        arguments = (queries, keys, contiguous(q_weight), contiguous(k_weight), *out, eps, TILE_H, _tile(q.shape[-1]))
        launch("norms.qk_norm", queries.shape[:1], *arguments, like=q)
    return out[0].reshape(q.shape), out[1].reshape(k.shape)


def cache_update(k: AnyArray, v: AnyArray, k_cache: AnyArray, v_cache: AnyArray, start: int | AnyArray) -> None:
    """``cache[:, :, start + s] = new[:, s]`` for keys and values of S new tokens of every sequence.

    k, v (B, S, HK, D); k_cache, v_cache (B, HK, P, D); start: a number in [0, P - S], or an array of one, i32, which a
    launch that is made again reads again.

    >>> import numpy as np
    >>> from tileverify.kernels import cache_update
    >>> new, keys, values = np.ones((1, 2, 1, 1), np.float32), *np.zeros((2, 1, 1, 4, 1), np.float32)
    >>> cache_update(new, 2 * new, keys, values, 1)
    >>> values.ravel().tolist()
    [0.0, 2.0, 2.0, 0.0]
    """
    no_gradient("cache_update", k=k, v=v, k_cache=k_cache, v_cache=v_cache)
    need_axes("(B, S, HK, D)", k=k)
    need(k.shape, v=v)
    batch, length, heads, width = k.shape
    places = _places(k_cache, v_cache, batch, heads, width)
    if isinstance(start, int):
        need_number("start", start, 0, places - length)
    else:
        need((1,), start=start)
        need_type("i32", start=start)
    if 0 in k.shape:
        return
    new, grid, tiles = (as_heads(k), as_heads(v)), (length, batch), (TILE_H, _tile(width))
    if isinstance(start, int):
        launch("rope.cache_update", grid, *new, k_cache, v_cache, start, *tiles, like=k_cache)
    else:
        fits = "range(start, 0, k_cache.shape[2] - grid.x + 1)"
        arguments = (*new, contiguous(start), k_cache, v_cache, *tiles)
        launch("rope.cache_update_from", grid, *arguments, like=k_cache, data=(fits,))


def prefill_heads(
    q: ArrayOf[A], k: AnyArray, v: AnyArray,
    cos: AnyArray, sin: AnyArray, starts: AnyArray, k_cache: AnyArray, v_cache: AnyArray,
) -> A:  # fmt: skip
    """`rope` of S new tokens of every sequence; gives the queries, keys and values go to the cache.

    q (B, S, HQ, 2 * HALF); k, v (B, S, HK, 2 * HALF); cos, sin (P or more, HALF); starts (B), i32 in [0, P - S]: the
    first new position of each sequence; k_cache, v_cache (B, HK, P, 2 * HALF).

    >>> import numpy as np
    >>> from tileverify.kernels import prefill_heads
    >>> x, (keys, values) = np.ones((1, 2, 1, 2), np.float32), np.zeros((2, 1, 1, 3, 2), np.float32)
    >>> cos, sin = np.zeros((3, 1), np.float32), np.ones((3, 1), np.float32)
    >>> prefill_heads(x, x, x, cos, sin, np.array([1], np.int32), keys, values)[0, 0].tolist()
    [[-1.0, 1.0]]
    >>> keys[0, 0].tolist(), values[0, 0].tolist()
    ([[0.0, 0.0], [-1.0, 1.0], [-1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    """
    return _prefill("prefill_heads", q, k, v, (), (), cos, sin, starts, k_cache, v_cache)


def prefill_normed_heads(
    q: ArrayOf[A], k: AnyArray, v: AnyArray, q_weight: AnyArray, k_weight: AnyArray,
    cos: AnyArray, sin: AnyArray, starts: AnyArray, k_cache: AnyArray, v_cache: AnyArray, eps: float = 1e-6,
) -> A:  # fmt: skip
    """`prefill_heads` after `qk_norm`; q_weight, k_weight (2 * HALF).

    >>> import numpy as np
    >>> from tileverify.kernels import prefill_normed_heads
    >>> x, (keys, values) = np.full((1, 1, 1, 2), 4.0, np.float32), np.zeros((2, 1, 1, 1, 2), np.float32)
    >>> table, ones, start = np.ones((1, 1), np.float32), np.ones(2, np.float32), np.zeros(1, np.int32)
    >>> prefill_normed_heads(x, x, x, ones, ones, table, 0 * table, start, keys, values).round(4).ravel().tolist()
    [1.0, 1.0]
    """
    weights = {"q_weight": q_weight, "k_weight": k_weight}
    need(q.shape[-1:], **weights)
    no_gradient("prefill_normed_heads", **weights)
    normed = tuple(map(contiguous, weights.values()))
    return _prefill("prefill_normed_heads", q, k, v, normed, (eps,), cos, sin, starts, k_cache, v_cache)


def decode_heads(
    q: ArrayOf[A], k: AnyArray, v: AnyArray,
    cos: AnyArray, sin: AnyArray, positions: AnyArray, k_cache: AnyArray, v_cache: AnyArray,
) -> A:  # fmt: skip
    """`prefill_heads` for one new token of each sequence, at ``positions``, with more blocks than there are sequences.

    q (B, HQ, 2 * HALF); k, v (B, HK, 2 * HALF); positions (B), i32 in [0, P).

    >>> import numpy as np
    >>> from tileverify.kernels import decode_heads
    >>> x, (keys, values) = np.ones((1, 1, 2), np.float32), np.zeros((2, 1, 1, 2, 2), np.float32)
    >>> cos, sin = np.zeros((2, 1), np.float32), np.ones((2, 1), np.float32)
    >>> decode_heads(x, x, x, cos, sin, np.array([1], np.int32), keys, values).tolist()
    [[[-1.0, 1.0]]]
    >>> keys[0, 0].tolist()
    [[0.0, 0.0], [-1.0, 1.0]]
    """
    return _decode("decode_heads", q, k, v, (), (), cos, sin, positions, k_cache, v_cache)


def decode_normed_heads(
    q: ArrayOf[A], k: AnyArray, v: AnyArray, q_weight: AnyArray, k_weight: AnyArray,
    cos: AnyArray, sin: AnyArray, positions: AnyArray, k_cache: AnyArray, v_cache: AnyArray, eps: float = 1e-6,
) -> A:  # fmt: skip
    """`decode_heads` after `qk_norm`; q_weight, k_weight (2 * HALF).

    >>> import numpy as np
    >>> from tileverify.kernels import decode_normed_heads
    >>> x, (keys, values) = np.full((1, 1, 2), 4.0, np.float32), np.zeros((2, 1, 1, 1, 2), np.float32)
    >>> table, ones, position = np.ones((1, 1), np.float32), np.ones(2, np.float32), np.zeros(1, np.int32)
    >>> decode_normed_heads(x, x, x, ones, ones, table, 0 * table, position, keys, values).round(4).ravel().tolist()
    [1.0, 1.0]
    """
    weights = {"q_weight": q_weight, "k_weight": k_weight}
    need(q.shape[-1:], **weights)
    no_gradient("decode_normed_heads", **weights)
    normed = tuple(map(contiguous, weights.values()))
    return _decode("decode_normed_heads", q, k, v, normed, (eps,), cos, sin, positions, k_cache, v_cache)


# ------------------------------------------------------------------------------------------- fused launches
def _prefill(
    kernel: str, q: ArrayOf[A], k: AnyArray, v: AnyArray, weights: tuple[AnyArray, ...], numbers: tuple[float, ...],
    cos: AnyArray, sin: AnyArray, starts: AnyArray, k_cache: AnyArray, v_cache: AnyArray,
) -> A:  # fmt: skip
    need_axes("(B, S, H, 2 * HALF)", q=q, k=k)
    need(q.shape[:1], starts=starts)
    need_type("i32", starts=starts)
    grid = (q.shape[1], q.shape[0])
    fits = "range(starts, 0, k_cache.shape[2] - grid.x + 1)"
    return _launched(kernel, grid, q, k, v, weights, numbers, cos, sin, starts, k_cache, v_cache, fits)


def _decode(
    kernel: str, q: ArrayOf[A], k: AnyArray, v: AnyArray, weights: tuple[AnyArray, ...], numbers: tuple[float, ...],
    cos: AnyArray, sin: AnyArray, positions: AnyArray, k_cache: AnyArray, v_cache: AnyArray,
) -> A:  # fmt: skip
    need_axes("(B, H, 2 * HALF)", q=q, k=k)
    need(q.shape[:1], positions=positions)
    need_type("i32", positions=positions)
    grid = (-(-q.shape[1] // TILE_H) - (-k.shape[1] // TILE_H), q.shape[0])
    fits = "range(positions, 0, k_cache.shape[2])"
    return _launched(kernel, grid, q, k, v, weights, numbers, cos, sin, positions, k_cache, v_cache, fits)


def _launched(
    kernel: str, grid: tuple[int, int], q: ArrayOf[A], k: AnyArray, v: AnyArray,
    weights: tuple[AnyArray, ...], numbers: tuple[float, ...],
    cos: AnyArray, sin: AnyArray, places: AnyArray, k_cache: AnyArray, v_cache: AnyArray, fits: str,
) -> A:  # fmt: skip
    no_gradient(kernel, q=q, k=k, v=v, k_cache=k_cache, v_cache=v_cache)
    need((*q.shape[:-2], *k.shape[-2:-1], q.shape[-1]), k=k)
    need(k.shape, v=v)
    half = need_tables(q.shape[-1], cos=cos, sin=sin)
    reach = _places(k_cache, v_cache, q.shape[0], k.shape[-2], q.shape[-1])
    if cos.shape[0] < reach:
        raise UsageError(f"`cos` has {cos.shape[0]} rows, and the cache {reach} positions")
    out = empty(q.shape, q)
    if 0 not in grid:
        tables = (contiguous(cos)[:reach], contiguous(sin)[:reach], contiguous(places))
        results = (as_heads(out), k_cache, v_cache)
        arguments = (*map(as_heads, (q, k, v)), *weights, *tables, *results, *numbers, TILE_H, half)
        launch(f"rope.{kernel}", grid, *arguments, like=q, data=(fits,))
    return out


def _places(k_cache: AnyArray, v_cache: AnyArray, batch: int, heads: int, width: int) -> int:
    """Positions of the caches; raises `UsageError` where they are not those of such keys and values."""
    need_writable(k_cache=k_cache, v_cache=v_cache)
    need_axes("(B, HK, P, D)", k_cache=k_cache)
    places = k_cache.shape[2]
    need((batch, heads, places, width), k_cache=k_cache, v_cache=v_cache)
    need_packed(k_cache=k_cache, v_cache=v_cache)
    return places


def _tile(width: int) -> int:
    """A power of two that holds a head."""
    return max(TILE_D, 1 << (width - 1).bit_length())
