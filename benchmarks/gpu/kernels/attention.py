"""Attention with the online softmax: forward over whole sequences, and of one new token over a cache."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ConstBool = ct.Constant[bool]

LOG2_E = 1.4426950408889634
NEGATIVE = -1.0e30
"""Instead of minus infinity, whose differences are no numbers."""


def rescaled(scores, to_base_2, values, best, total, sums):
    """The running maximum, sum of powers and weighted sum of values, one tile of keys later.

    ``scores`` (M, N) times ``to_base_2``, which is positive, are logarithms to base 2; ``values`` (N, D).
    """
    higher = max(best, ct.max(scores, axis=1, keepdims=True) * to_base_2)
    powers = ct.exp2(scores * to_base_2 - higher, flush_to_zero=True)
    fade = ct.exp2(best - higher, flush_to_zero=True)
    total = total * fade + ct.sum(powers, axis=1, keepdims=True)
    sums = ct.mma(ct.astype(powers, values.dtype), values, sums * fade)
    return higher, total, sums


@ct.kernel
def attention(
    q, k, v, out, scale: float, D: ConstInt, BM: ConstInt, BN: ConstInt, SHARED: ConstInt, CAUSAL: ConstBool,
    LATENCY: ConstInt,
):  # fmt: skip
    """softmax(scale * Q Kᵀ) V for arrays (batch, head, position, D); SHARED query heads use one head of K and V.

    With CAUSAL, position i sees keys 0 to i; the longest rows come first.  ``scale`` is positive.  LATENCY tells the
    compiler how far ahead to load K and V (1 to 10; 0: as it likes).
    """
    row = ct.num_blocks(0) - 1 - ct.bid(0) if CAUSAL else ct.bid(0)
    batch, head = ct.bid(1) // q.shape[1], ct.bid(1) % q.shape[1]
    shared = head // SHARED
    keys = k.shape[2]
    tile_q = ct.reshape(ct.load(q, (batch, head, row, 0), (1, 1, BM, D), padding_mode=ct.PaddingMode.ZERO), (BM, D))
    to_base_2 = scale * LOG2_E
    best = ct.full((BM, 1), NEGATIVE, dtype=ct.float32)
    total = ct.full((BM, 1), 0.0, dtype=ct.float32)
    sums = ct.full((BM, D), 0.0, dtype=ct.float32)
    seen = min(keys, (row + 1) * BM) if CAUSAL else keys
    whole = min(keys, row * BM) // BN if CAUSAL else keys // BN
    for j in range(whole):
        ahead = ct.static_eval(LATENCY or None)
        tile_k = ct.load(k, (batch, shared, 0, j), (1, 1, D, BN), order=(0, 1, 3, 2), latency=ahead)
        tile_v = ct.load(v, (batch, shared, j, 0), (1, 1, BN, D), latency=ahead)
        scores = ct.mma(tile_q, ct.reshape(tile_k, (D, BN)), ct.full((BM, BN), 0.0, dtype=ct.float32))
        best, total, sums = rescaled(scores, to_base_2, ct.reshape(tile_v, (BN, D)), best, total, sums)
    positions = row * BM + ct.arange(BM, dtype=ct.int32)[:, None]
    for j in range(whole, ct.cdiv(seen, BN)):
        tile_k = ct.load(k, (batch, shared, 0, j), (1, 1, D, BN), order=(0, 1, 3, 2), padding_mode=ct.PaddingMode.ZERO)
        tile_v = ct.load(v, (batch, shared, j, 0), (1, 1, BN, D), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(tile_q, ct.reshape(tile_k, (D, BN)), ct.full((BM, BN), 0.0, dtype=ct.float32))
        at = j * BN + ct.arange(BN, dtype=ct.int32)[None, :]
        allowed = at < keys
        if CAUSAL:
            allowed = allowed & (at <= positions)
        scores = ct.where(allowed, scores, NEGATIVE)
        best, total, sums = rescaled(scores, to_base_2, ct.reshape(tile_v, (BN, D)), best, total, sums)
    result = ct.astype(sums / total, out.dtype)
    ct.store(out, (batch, head, row, 0), ct.reshape(result, (1, 1, BM, D)))


@ct.kernel
def decode_part(q, k, v, sums_of, bests_of, totals_of, scale: float, D: ConstInt, BN: ConstInt, HEADS: ConstInt):
    """One new token for each sequence: the share of one split of the keys.

    Q (batch, head of K, query head, D), K and V (batch, head of K, position, D), at most HEADS query heads;
    grid (splits, heads of K, batch).  Partial sums (batch, head of K, split, query head, D) go to ``sums_of`` (its
    first two axes as one), with the maxima and sums of powers that go with them.
    """
    split, head, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    keys, splits = k.shape[2], ct.num_blocks(0)
    tile_q = ct.reshape(ct.load(q, (batch, head, 0, 0), (1, 1, HEADS, D), padding_mode=ct.PaddingMode.ZERO), (HEADS, D))
    to_base_2 = scale * LOG2_E
    best = ct.full((HEADS, 1), NEGATIVE, dtype=ct.float32)
    total = ct.full((HEADS, 1), 0.0, dtype=ct.float32)
    sums = ct.full((HEADS, D), 0.0, dtype=ct.float32)
    each = ct.cdiv(ct.cdiv(keys, BN), splits)
    for j in range(split * each, min((split + 1) * each, ct.cdiv(keys, BN))):
        tile_k = ct.load(k, (batch, head, 0, j), (1, 1, D, BN), order=(0, 1, 3, 2), padding_mode=ct.PaddingMode.ZERO)
        tile_v = ct.load(v, (batch, head, j, 0), (1, 1, BN, D), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(tile_q, ct.reshape(tile_k, (D, BN)), ct.full((HEADS, BN), 0.0, dtype=ct.float32))
        at = j * BN + ct.arange(BN, dtype=ct.int32)[None, :]
        scores = ct.where(at < keys, scores, NEGATIVE)
        best, total, sums = rescaled(scores, to_base_2, ct.reshape(tile_v, (BN, D)), best, total, sums)
    at = batch * ct.num_blocks(1) + head
    ct.store(sums_of, (at, split, 0, 0), ct.reshape(sums, (1, 1, HEADS, D)))
    ct.store(bests_of, (at, split, 0), ct.reshape(best, (1, 1, HEADS)))
    ct.store(totals_of, (at, split, 0), ct.reshape(total, (1, 1, HEADS)))


@ct.kernel
def decode_whole(sums_of, bests_of, totals_of, out, D: ConstInt, SPLITS: ConstInt):
    """The shares of all splits of one query head together; ``out`` (batch and head of K, query head, D)."""
    at, head = ct.bid(0), ct.bid(1)
    bests = ct.reshape(
        ct.load(bests_of, (at, 0, head), (1, SPLITS, 1), padding_mode=ct.PaddingMode.NEG_INF), (SPLITS, 1)
    )
    totals = ct.reshape(
        ct.load(totals_of, (at, 0, head), (1, SPLITS, 1), padding_mode=ct.PaddingMode.ZERO), (SPLITS, 1)
    )
    weights = ct.exp2(bests - ct.max(bests, axis=0, keepdims=True), flush_to_zero=True)
    sums = ct.load(sums_of, (at, 0, head, 0), (1, SPLITS, 1, D), padding_mode=ct.PaddingMode.ZERO)
    weighted = ct.sum(ct.reshape(sums, (SPLITS, D)) * weights, axis=0)
    result = weighted / ct.sum(totals * weights)
    ct.store(out, (at, head, 0), ct.reshape(ct.astype(result, out.dtype), (1, 1, D)))
