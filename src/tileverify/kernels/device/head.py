"""What follows the last layer: the head's product with its largest element, top-k, and sampling.

Logits that are not numbers are never chosen.  Of equal ones the first is.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ZERO, LOWEST = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF
NEGATIVE_INFINITY = float("-inf")
NO_PLACE = 2**31 - 1


def largest(values, places):
    """Maximum of each row, and where it is; place 0 where a row has none."""
    highest = ct.max(values, axis=1, keepdims=True)
    place = ct.min(ct.where(values == highest, places, NO_PLACE), axis=1, keepdims=True)
    return highest, ct.where(place == NO_PLACE, 0, place)


@ct.kernel(occupancy=2)
def head_argmax(x, weights, maxima, places, TILE_B: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """The largest logit, and where it is, among TILE_N of ``x weightsᵀ``: the logits themselves are not written.

    x [B, K], weights [N, K]; maxima f32[B, P] and places i32[B, P] for P = cdiv(N, TILE_N).  Requires 1 <= B <= TILE_B,
    which is 8 at most, or registers do not suffice.  Grid P.
    """
    block = ct.bid(0)
    acc = ct.zeros((TILE_B, TILE_N, TILE_K), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[1], TILE_K)):
        parts = ct.load(x, (0, k), (TILE_B, TILE_K), padding_mode=ZERO).astype(ct.float32)
        tile = ct.load(weights, (block, k), (TILE_N, TILE_K), padding_mode=ZERO).astype(ct.float32)
        acc = acc + parts[:, None, :] * tile[None, :, :]
    at = block * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
    logits = ct.where(at < weights.shape[0], ct.sum(acc, axis=2), NEGATIVE_INFINITY)
    highest, place = largest(logits, at)
    ct.store(maxima, (0, block), highest)
    ct.store(places, (0, block), place)


@ct.kernel
def argmax_blocks(logits, maxima, places, TILE_N: ConstInt):
    """The same of logits [B, N]; maxima f32[B, P] and places i32[B, P] for P = cdiv(N, TILE_N).  Grid (P, B)."""
    block, b = ct.bid(0), ct.bid(1)
    at = block * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
    row = ct.load(logits, (b, block), (1, TILE_N), padding_mode=LOWEST).astype(ct.float32)
    highest, place = largest(row, at)
    ct.store(maxima, (b, block), highest)
    ct.store(places, (b, block), place)


@ct.kernel
def argmax_merge(maxima, places, out, TILE_P: ConstInt):
    """Where the largest element of a row is: maxima f32[B, P], places i32[B, P], out i32[B].  Grid B."""
    b = ct.bid(0)
    highest = ct.full((1, TILE_P), NEGATIVE_INFINITY, dtype=ct.float32)
    place = ct.zeros((1, TILE_P), dtype=ct.int32)
    for j in range(ct.cdiv(maxima.shape[1], TILE_P)):
        values = ct.load(maxima, (b, j), (1, TILE_P), padding_mode=LOWEST)
        at = ct.load(places, (b, j), (1, TILE_P), padding_mode=ZERO)
        place = ct.where(values > highest, at, place)
        highest = ct.where(values > highest, values, highest)
    _, first = largest(highest, place)
    ct.store(out, (b,), first.reshape((1,)))


def chosen(values, places, count, TILE_K):
    """The ``count`` largest elements of one row in falling order, and their places, in tiles of TILE_K."""
    lanes = ct.arange(TILE_K, dtype=ct.int32)[None, :]
    own = ct.arange(values.shape[1], dtype=ct.int32)[None, :]
    free = values == values
    tops = ct.full((1, TILE_K), NEGATIVE_INFINITY, dtype=ct.float32)
    at = ct.full((1, TILE_K), -1, dtype=ct.int32)
    for r in range(count):
        highest = ct.max(ct.where(free, values, NEGATIVE_INFINITY), axis=1, keepdims=True)
        lane = ct.min(ct.where(free & (values == highest), own, NO_PLACE), axis=1, keepdims=True)
        place = ct.max(ct.where(own == lane, places, -1), axis=1, keepdims=True)
        tops = ct.where(lanes == r, highest, tops)
        at = ct.where(lanes == r, place, at)
        free = free & (own != lane)
    return tops, at


@ct.kernel
def top_k_blocks(values, tops, places, TILE_N: ConstInt, TILE_K: ConstInt):
    """The K largest among TILE_N elements of a row in falling order, and where they are; -1 where there are fewer.

    values [B, N]; tops f32[B, P, K] and places i32[B, P, K] for P = cdiv(N, TILE_N).  Requires 1 <= K <= TILE_K.
    Grid (P, B).
    """
    block, b = ct.bid(0), ct.bid(1)
    row = ct.load(values, (b, block), (1, TILE_N), padding_mode=LOWEST).astype(ct.float32)
    at = block * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
    best, best_at = chosen(row, ct.where(at < values.shape[1], at, -1), tops.shape[2], TILE_K)
    ct.store(tops, (b, block, 0), best.reshape((1, 1, TILE_K)))
    ct.store(places, (b, block, 0), best_at.reshape((1, 1, TILE_K)))


@ct.kernel
def top_k_merge(values, value_places, tops, places, TILE_N: ConstInt, TILE_K: ConstInt):
    """The same of candidates f32[B, N] with their places i32[B, N], as often as it takes to reach P = 1.

    tops f32[B, P, K] and places i32[B, P, K] for P = cdiv(N, TILE_N).  Requires 1 <= K <= TILE_K.  Grid (P, B).
    """
    block, b = ct.bid(0), ct.bid(1)
    row = ct.load(values, (b, block), (1, TILE_N), padding_mode=LOWEST)
    at = block * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
    named = ct.load(value_places, (b, block), (1, TILE_N), padding_mode=ZERO)
    best, best_at = chosen(row, ct.where(at < values.shape[1], named, -1), tops.shape[2], TILE_K)
    ct.store(tops, (b, block, 0), best.reshape((1, 1, TILE_K)))
    ct.store(places, (b, block, 0), best_at.reshape((1, 1, TILE_K)))


@ct.kernel
def sample(logits, uniforms, out, temperature, TILE_N: ConstInt):
    """The first i for which the powers ``exp(logits / temperature)`` up to i pass a share ``uniforms`` of their sum.

    logits [B, N], uniforms f32[B] in [0, 1), out i32[B]; temperature is positive.  Grid B.
    """
    b = ct.bid(0)
    tiles = ct.cdiv(logits.shape[1], TILE_N)
    highest = ct.full((1, TILE_N), NEGATIVE_INFINITY, dtype=ct.float32)
    for j in range(tiles):
        highest = ct.maximum(highest, ct.load(logits, (b, j), (1, TILE_N), padding_mode=LOWEST).astype(ct.float32))
    top = ct.max(highest, axis=1, keepdims=True)
    total = ct.zeros((1, TILE_N), dtype=ct.float32)
    for j in range(tiles):
        row = ct.load(logits, (b, j), (1, TILE_N), padding_mode=LOWEST).astype(ct.float32)
        total = total + ct.exp((row - top) / temperature)
    target = ct.sum(total, axis=1, keepdims=True) * ct.load(uniforms, (b,), (1,)).reshape((1, 1))
    before = ct.zeros((1, 1), dtype=ct.float32)
    first = ct.full((1, 1), NO_PLACE, dtype=ct.int32)
    last = ct.zeros((1, 1), dtype=ct.int32)
    for j in range(tiles):
        row = ct.load(logits, (b, j), (1, TILE_N), padding_mode=LOWEST).astype(ct.float32)
        powers = ct.exp((row - top) / temperature)
        at = j * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
        passed = (before + ct.cumsum(powers, axis=1) > target) & (powers > 0.0)
        first = ct.minimum(first, ct.min(ct.where(passed, at, NO_PLACE), axis=1, keepdims=True))
        # Where rounding leaves nothing to pass the share, the last that can be chosen is.
        last = ct.maximum(last, ct.max(ct.where(powers > 0.0, at, 0), axis=1, keepdims=True))
        before = before + ct.sum(powers, axis=1, keepdims=True)
    ct.store(out, (b,), ct.minimum(first, last).reshape((1,)))


@ct.kernel
def sample_top(values, places, uniforms, out, temperature, top_p, TILE_K: ConstInt):
    """`sample` among candidates in falling order, of which the first are kept that hold a share top_p of the sum.

    values f32[B, K] and places i32[B, K] as `top_k_blocks` gives them, uniforms f32[B] in [0, 1), out i32[B]: one of
    the places.  Requires 1 <= K <= TILE_K.  Grid B.
    """
    b = ct.bid(0)
    row = ct.load(values, (b, 0), (1, TILE_K), padding_mode=LOWEST)
    named = ct.load(places, (b, 0), (1, TILE_K), padding_mode=ZERO)
    powers = ct.exp((row - ct.max(row, axis=1, keepdims=True)) / temperature)
    prefix = ct.cumsum(powers, axis=1)
    # The first is kept however small top_p is.
    own = ct.arange(TILE_K, dtype=ct.int32)[None, :]
    kept = (own == 0) | (prefix - powers < top_p * ct.sum(powers, axis=1, keepdims=True))
    powers = ct.where(kept, powers, 0.0)
    target = ct.sum(powers, axis=1, keepdims=True) * ct.load(uniforms, (b,), (1,)).reshape((1, 1))
    passed = (prefix > target) & (powers > 0.0)
    first = ct.min(ct.where(passed, own, NO_PLACE), axis=1, keepdims=True)
    last = ct.max(ct.where(powers > 0.0, own, 0), axis=1, keepdims=True)
    lane = ct.minimum(first, last)
    ct.store(out, (b,), ct.max(ct.where(own == lane, named, -1), axis=1))
