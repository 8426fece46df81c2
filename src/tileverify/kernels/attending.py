"""Attention over sequences, over a cache, and of single tokens over a cache.  None of these functions has a gradient.

Heads lie as (batch, head, position, number); GROUP query heads in a row share a head of keys and values.
"""

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
    B,
    contiguous,
    empty,
    need,
    need_axes,
    need_number,
    need_packed,
    need_type,
    need_writable,
    processors,
    takes_jax,
    value_of,
)
from .prepared import Gradients, Saved, launch, no_gradient, with_gradient

TILES: Final = {"bf16": (64, 128), "f16": (64, 128), "f32": (32, 32)}
"""Queries and keys that a block takes at a time: elements of 32 bits leave room for fewer."""

WIDTHS: Final = (64, 128)
"""Numbers of a head that a tile holds."""

SHARING: Final = (16, 64)
"""Query heads that a tile of `decode_attention` holds, all of which share a head of keys."""

MOST_SPLITS: Final = 64

WAVES: Final = 2
"""Blocks for each multiprocessor, of `decode_attention`."""


@takes_jax
def attention(
    q: ArrayOf[A],
    k: AnyArray,
    v: AnyArray,
    causal: bool = True,
    scale: float | None = None,
    used: AnyArray | None = None,
) -> A:
    """``softmax(scale * q kᵀ) v`` of each head.

    q (B, GROUP * HK, T, D); k and v (B, HK, S, D), all bf16, f16 or f32 with D up to 128; scale: ``1 / sqrt(D)`` if it
    is not given.  Gives what q is like.  With ``causal``, T is S, and query i sees the keys 0 to i.

    ``used`` (1), i32: k and v are a cache of which so many keys are there, the last T of them those of the queries.  A
    number outside of T to S counts as the nearest of these.

    >>> import numpy as np
    >>> from tileverify.kernels import attention
    >>> q, k = np.zeros((1, 1, 2, 2), np.float32), np.zeros((1, 1, 2, 2), np.float32)
    >>> attention(q, k, np.array([[[[1.0, 2.0], [3.0, 4.0]]]], np.float32)).tolist()
    [[[[1.0, 2.0], [2.0, 3.0]]]]
    >>> k, v = np.zeros((1, 1, 4, 2), np.float32), np.arange(8, dtype=np.float32).reshape(1, 1, 4, 2)
    >>> attention(q, k, v, used=np.array([3], np.int32)).tolist()  # keys 0 to 1 and 0 to 2
    [[[[1.0, 2.0], [2.0, 3.0]]]]
    """
    no_gradient("attention", q=q, k=k, v=v)
    need_axes("(B, H, T, D)", q=q)
    batch, heads, queries, width = q.shape
    group, keys = _need_keys(q, k, v, batch, heads, width)
    if used is not None:
        need((1,), used=used)
        need_type("i32", used=used)
        if queries > keys:
            raise UsageError(f"`q` has {queries} queries, and the cache {keys} keys")
    elif causal and queries != keys:
        raise UsageError(f"`k` has {keys} keys for {queries} queries: causal attention needs `used`, or as many")
    out = empty(q.shape, q)
    if 0 not in q.shape:
        tiles = TILES[value_of(q).dtype]
        grid = (-(-queries // tiles[0]), batch * heads)
        kernel, place = ("attention", ()) if used is None else ("attention_cached", (contiguous(used),))
        given = (contiguous(q), contiguous(k), contiguous(v), *place, out, _scale(scale, width), group)
        launch(f"attention.{kernel}", grid, *given, *tiles, _tile(width, WIDTHS), bool(causal), like=q)
    return out


@takes_jax
def decode_attention(
    q: ArrayOf[A], k: AnyArray, v: AnyArray, lengths: AnyArray, scale: float | None = None, splits: int | None = None
) -> A:
    """Attention of one query for each sequence, to the first ``lengths`` keys of it: what decoding needs.

    q (B, GROUP * HK, D), with a GROUP up to 64; k and v (B, HK, S, D), all bf16, f16 or f32 with D up to 128; lengths
    (B), i32: more than S counts as S, and a sequence without keys gives zeros; scale: ``1 / sqrt(D)`` if not given.

    Keys are divided into ``splits`` parts of about the same length, 64 at most, so that the whole device has work where
    there are few sequences: as many as keep it busy, if it is not given.  Parts are put together in one order, so that
    equal arguments give equal bits.

    >>> import numpy as np
    >>> from tileverify.kernels import decode_attention
    >>> q, k, v = np.zeros((1, 1, 1), np.float32), np.zeros((1, 1, 4, 1), np.float32), np.arange(4, dtype=np.float32)
    >>> decode_attention(q, k, v.reshape(1, 1, 4, 1), np.array([3], np.int32)).tolist()
    [[[1.0]]]
    """
    no_gradient("decode_attention", q=q, k=k, v=v)
    need_axes("(B, H, D)", q=q)
    batch, heads, width = q.shape
    group, keys = _need_keys(q, k, v, batch, heads, width)
    need((batch,), lengths=lengths)
    need_type("i32", lengths=lengths)
    tile = TILES[value_of(q).dtype][1]
    if splits is None:
        splits = _splits(batch * k.shape[1], -(-keys // tile), processors(q))
    need_number("splits", splits, 1, MOST_SPLITS)
    if 0 in q.shape:
        return empty(q.shape, q)
    shared = (batch, k.shape[1])
    parts = empty((*shared, splits, group, width), q, "f32")
    maxima, sums = (empty((*shared, splits, group), q, "f32") for _ in range(2))
    given = (contiguous(q).reshape((*shared, group, width)), contiguous(k), contiguous(v), contiguous(lengths))
    tiles = (_tile(group, SHARING), tile, _tile(width, WIDTHS))
    grid = (splits, *reversed(shared))
    launch("attention.decode_splits", grid, *given, parts, maxima, sums, _scale(scale, width), *tiles, like=q)
    out = empty((*shared, group, width), q)
    grid = (group, *reversed(shared))
    launch("attention.decode_merge", grid, parts, maxima, sums, out, MOST_SPLITS, tiles[2], like=q)
    return out.reshape(q.shape)


def _need_keys(q: AnyArray, k: AnyArray, v: AnyArray, batch: int, heads: int, width: int) -> tuple[int, int]:
    """Query heads that share a head of keys, and how many keys there are; raises `UsageError` for what does not fit."""
    need_type(*TILES, q=q)
    need_type(value_of(q).dtype, k=k, v=v)
    need_axes("(B, HK, S, D)", k=k)
    shared, keys = k.shape[1:3]
    need((batch, shared, keys, width), k=k, v=v)
    if heads % max(shared, 1) or (heads and not shared):
        raise UsageError(f"`q` has {heads} heads, no multiple of the {shared} of `k`")
    if width > WIDTHS[-1]:
        raise UsageError(f"`q` has heads of {width} numbers, and it takes up to {WIDTHS[-1]}")
    return heads // max(shared, 1), keys


def _scale(scale: float | None, width: int) -> float:
    return float(width**-0.5 if scale is None else scale)


def _tile(size: int, sizes: tuple[int, ...]) -> int:
    """The first that is large enough."""
    for tile in sizes:
        if size <= tile:
            return tile
    raise UsageError(f"{size} query heads share a head of keys, and it takes up to {sizes[-1]}")


def _splits(shared: int, tiles: int, multiprocessors: int) -> int:
    """Parts of the keys with which every multiprocessor has work, none without a tile of keys."""
    wanted = -(-WAVES * multiprocessors // max(shared, 1))
    return max(1, min(wanted, tiles, MOST_SPLITS))


# ---------------------------------------------------------------------------------------------------------------- heads
# Heads on their way to attention: norms, rotary embedding and what a cache keeps of keys and values, in one launch.
#
# Caches lie as (batch, head, position, number) and are written where they are.  None of these functions has a gradient.


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
        arguments = (
            queries,
            keys,
            contiguous(q_weight),
            contiguous(k_weight),
            *out,
            eps,
            TILE_H,
            _tile_of_heads(q.shape[-1]),
        )
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
    new, grid, tiles = (as_heads(k), as_heads(v)), (length, batch), (TILE_H, _tile_of_heads(width))
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


def _tile_of_heads(width: int) -> int:
    """A power of two that holds a head."""
    return max(TILE_D, 1 << (width - 1).bit_length())


# --------------------------------------------------------------------------------------------------------------- rotary
# Rotary position embedding of queries and keys; angles come in tables, a row for each position that may occur.


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
