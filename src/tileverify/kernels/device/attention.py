"""Attention with an online softmax: whole sequences, queries behind a cache, and one query over splits of the keys.

Logarithms are to base 2.  Keys and values have fewer heads than queries: ``group`` query heads in a row share one.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ConstBool = ct.Constant[bool]

ZERO = ct.PaddingMode.ZERO
AHEAD = 3
"""How far ahead of their use the compiler is to load keys and values."""

LOG2_E = 1.4426950408889634
MASKED = -1.0e30
"""Instead of minus infinity, whose differences are no numbers."""


def scored(queries, k, v, b, h, j, TILE_N, TILE_D):
    """Products of the queries with tile ``j`` of the keys of a head, and the values of that tile."""
    keys = ct.load(k, (b, h, 0, j), (1, 1, TILE_D, TILE_N), order=(0, 1, 3, 2), padding_mode=ZERO, latency=AHEAD)
    values = ct.load(v, (b, h, j, 0), (1, 1, TILE_N, TILE_D), padding_mode=ZERO, latency=AHEAD)
    scores = ct.zeros((queries.shape[0], TILE_N), dtype=ct.float32)
    return ct.mma(queries, keys.reshape((TILE_D, TILE_N)), scores), values.reshape((TILE_N, TILE_D))


def further(scores, to_base_2, values, highest, total, acc):
    """The running maximum, sum of powers and weighted sum of values, one tile of keys later."""
    now_highest = ct.maximum(highest, ct.max(scores, axis=1, keepdims=True) * to_base_2)
    powers = ct.exp2(scores * to_base_2 - now_highest, flush_to_zero=True)
    fade = ct.exp2(highest - now_highest, flush_to_zero=True)
    total = total * fade + ct.sum(powers, axis=1, keepdims=True)
    acc = ct.mma(powers.astype(values.dtype), values, acc * fade)
    return now_highest, total, acc


def attend(q, k, v, out, scale, first, keys, row, group, TILE_M, TILE_N, TILE_D, CAUSAL):
    """Tile ``row`` of the queries of one head, the first of which is at position ``first``, over ``keys`` keys."""
    heads = q.shape[1]
    b, h = ct.bid(1) // heads, ct.bid(1) % heads
    shared = h // group
    queries = ct.load(q, (b, h, row, 0), (1, 1, TILE_M, TILE_D), padding_mode=ZERO)
    queries = queries.reshape((TILE_M, TILE_D))
    to_base_2 = scale * LOG2_E
    highest = ct.full((TILE_M, 1), MASKED, dtype=ct.float32)
    total = ct.zeros((TILE_M, 1), dtype=ct.float32)
    acc = ct.zeros((TILE_M, TILE_D), dtype=ct.float32)
    seen = min(keys, first + (row + 1) * TILE_M) if CAUSAL else keys
    unmasked = (min(keys, first + row * TILE_M) if CAUSAL else keys) // TILE_N
    for j in range(unmasked):
        scores, values = scored(queries, k, v, b, shared, j, TILE_N, TILE_D)
        highest, total, acc = further(scores, to_base_2, values, highest, total, acc)
    positions = first + row * TILE_M + ct.arange(TILE_M, dtype=ct.int32)[:, None]
    for j in range(unmasked, ct.cdiv(seen, TILE_N)):
        scores, values = scored(queries, k, v, b, shared, j, TILE_N, TILE_D)
        at = j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
        allowed = at < keys
        if CAUSAL:
            allowed = allowed & (at <= positions)
        scores = ct.where(allowed, scores, MASKED)
        # What a cache holds behind its last key was never written, and 0 times that may be no number.
        values = ct.where(j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[:, None] < keys, values, 0)
        highest, total, acc = further(scores, to_base_2, values, highest, total, acc)
    result = ct.where(total > 0.0, acc / total, 0.0).reshape((1, 1, TILE_M, TILE_D))
    ct.store(out, (b, h, row, 0), result.astype(out.dtype))


@ct.kernel(occupancy=2)
def attention(
    q, k, v, out, scale, group: int,
    TILE_M: ConstInt, TILE_N: ConstInt, TILE_D: ConstInt, CAUSAL: ConstBool,
):  # fmt: skip
    """``softmax(scale * q kᵀ) v`` of each head; with CAUSAL, position i sees the keys 0 to i.

    q and out [B, group * HK, T, D], k and v [B, HK, S, D], where CAUSAL means something for equal T and S; scale is
    positive.  Requires 1 <= D <= TILE_D.  Grid (cdiv(T, TILE_M), B * group * HK); the longest rows come first.
    """
    row = ct.num_blocks(0) - 1 - ct.bid(0) if CAUSAL else ct.bid(0)
    attend(q, k, v, out, scale, 0, k.shape[2], row, group, TILE_M, TILE_N, TILE_D, CAUSAL)


@ct.kernel(occupancy=2)
def attention_cached(
    q, k, v, used, out, scale, group: int,
    TILE_M: ConstInt, TILE_N: ConstInt, TILE_D: ConstInt, CAUSAL: ConstBool,
):  # fmt: skip
    """The same for T queries at the end of a cache of which ``used[0]`` keys are there, those of the queries included.

    q and out [B, group * HK, T, D], k and v [B, HK, S, D], used i32[1]; ``used[0]`` is taken as T to S if it is not.
    T is at most S.  Requires 1 <= D <= TILE_D.  Grid (cdiv(T, TILE_M), B * group * HK); the longest rows come first.
    """
    row = ct.num_blocks(0) - 1 - ct.bid(0) if CAUSAL else ct.bid(0)
    keys = min(max(ct.load(used, (0,), ()).item(), q.shape[2]), k.shape[2])
    attend(q, k, v, out, scale, max(keys - q.shape[2], 0), keys, row, group, TILE_M, TILE_N, TILE_D, CAUSAL)


@ct.kernel
def decode_splits(
    q, k, v, lengths, parts, maxima, sums, scale, TILE_H: ConstInt, TILE_N: ConstInt, TILE_D: ConstInt
):  # fmt: skip
    """Attention of one query a sequence to one split of its keys: the weighted values, not yet divided by their sum.

    q [B, HK, G, D] (G query heads share a head of keys), k and v [B, HK, S, D], lengths i32[B] (a length above S counts
    as S); parts f32[B, HK, P, G, D], maxima and sums f32[B, HK, P, G] for P splits.
    Requires 1 <= G <= TILE_H and 1 <= D <= TILE_D.  Grid (P, HK, B).
    """
    split, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    keys = min(max(ct.load(lengths, (b,), ()).item(), 0), k.shape[2])
    queries = ct.load(q, (b, h, 0, 0), (1, 1, TILE_H, TILE_D), padding_mode=ZERO)
    queries = queries.reshape((TILE_H, TILE_D))
    to_base_2 = scale * LOG2_E
    highest = ct.full((TILE_H, 1), MASKED, dtype=ct.float32)
    total = ct.zeros((TILE_H, 1), dtype=ct.float32)
    acc = ct.zeros((TILE_H, TILE_D), dtype=ct.float32)
    tiles = ct.cdiv(keys, TILE_N)
    each = ct.cdiv(tiles, ct.num_blocks(0))
    for j in range(split * each, min((split + 1) * each, tiles)):
        scores, values = scored(queries, k, v, b, h, j, TILE_N, TILE_D)
        at = j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
        scores = ct.where(at < keys, scores, MASKED)
        values = ct.where(j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[:, None] < keys, values, 0)
        highest, total, acc = further(scores, to_base_2, values, highest, total, acc)
    ct.store(parts, (b, h, split, 0, 0), acc.reshape((1, 1, 1, TILE_H, TILE_D)))
    ct.store(maxima, (b, h, split, 0), highest.reshape((1, 1, 1, TILE_H)))
    ct.store(sums, (b, h, split, 0), total.reshape((1, 1, 1, TILE_H)))


@ct.kernel
def decode_merge(parts, maxima, sums, out, TILE_P: ConstInt, TILE_D: ConstInt):
    """All splits of one query head together; a sequence without keys gives zeros.

    parts f32[B, HK, P, G, D], maxima and sums f32[B, HK, P, G], out [B, HK, G, D].
    Requires 1 <= P <= TILE_P and 1 <= D <= TILE_D.  Grid (G, HK, B).
    """
    g, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    highest = ct.load(maxima, (b, h, 0, g), (1, 1, TILE_P, 1), padding_mode=ct.PaddingMode.NEG_INF)
    highest = highest.reshape((TILE_P, 1))
    total = ct.load(sums, (b, h, 0, g), (1, 1, TILE_P, 1), padding_mode=ZERO).reshape((TILE_P, 1))
    shares = ct.exp2(highest - ct.max(highest, axis=0, keepdims=True), flush_to_zero=True)
    part = ct.load(parts, (b, h, 0, g, 0), (1, 1, TILE_P, 1, TILE_D), padding_mode=ZERO)
    weighted = ct.sum(part.reshape((TILE_P, TILE_D)) * shares, axis=0, keepdims=True)
    whole = ct.sum(total * shares, axis=0, keepdims=True)
    result = ct.where(whole > 0.0, weighted / whole, 0.0).reshape((1, 1, 1, TILE_D))
    ct.store(out, (b, h, g, 0), result.astype(out.dtype))
