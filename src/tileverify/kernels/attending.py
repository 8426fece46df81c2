"""Attention over sequences, over a cache, and of single tokens over a cache.  None of these functions has a gradient.

Heads lie as (batch, head, position, number); GROUP query heads in a row share a head of keys and values.
"""

from __future__ import annotations

from typing import Final

from ..system.errors import UsageError
from .arrays import (
    A,
    AnyArray,
    ArrayOf,
    contiguous,
    empty,
    need,
    need_axes,
    need_number,
    need_type,
    processors,
    takes_jax,
    value_of,
)
from .gradients import no_gradient
from .prepared import launch

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
