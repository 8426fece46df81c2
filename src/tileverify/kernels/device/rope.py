"""Rotary position embedding of queries and keys, alone and together with head norms and writes to a cache.

The two halves of a head turn by ``cos`` and ``sin`` (P, HALF) of the token's position: a row of these for each position
that may occur.  Heads have ``2 * HALF`` numbers.  Caches lie as (batch, head, position, number).

Positions come from arrays, so that one launch (of a graph, for instance) serves every step.  That they lie inside the
tables and caches is a fact about data that a launch has to state.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


def halves(x, t, h, TILE_H, HALF):
    """Both halves of the h-th tile of heads of token ``t``; x (T, H, 2 * HALF)."""
    low = ct.load(x, (t, h, 0), (1, TILE_H, HALF), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    high = ct.load(x, (t, h, 1), (1, TILE_H, HALF), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    return low, high


def normed(low, high, w_low, w_high, eps):
    """Both halves after `rms_norm` of every head."""
    squares = ct.sum(low * low + high * high, axis=-1, keepdims=True)
    scale = ct.rsqrt(squares / (2 * low.shape[-1]) + eps)
    return low * scale * w_low, high * scale * w_high


def turned(low, high, c, s):
    """Both halves, turned by the angle with cosine ``c`` and sine ``s``."""
    return low * c - high * s, high * c + low * s


def put_heads(low, high, out, t, h):
    """Where `halves` would find them."""
    ct.store(out, (t, h, 0), low.astype(out.dtype))
    ct.store(out, (t, h, 1), high.astype(out.dtype))


def keep_halves(low, high, cache, b, h, position):
    """Into the cache (B, H, P, 2 * HALF)."""
    shape = (1, low.shape[1], 1, low.shape[2])
    ct.store(cache, (b, h, position, 0), low.reshape(shape).astype(cache.dtype))
    ct.store(cache, (b, h, position, 1), high.reshape(shape).astype(cache.dtype))


def keep_heads(x, cache, t, b, h, position, TILE_H, TILE_D):
    """The h-th tile of heads of token ``t``, as they are; x (T, H, D), cache (B, H, P, D)."""
    tile = ct.load(x, (t, h, 0), (1, TILE_H, TILE_D), padding_mode=ct.PaddingMode.ZERO)
    ct.store(cache, (b, h, position, 0), tile.reshape((1, TILE_H, 1, TILE_D)).astype(cache.dtype))


def turn_heads(x, out, t, c, s, TILE_H, HALF):
    """All heads of token ``t``; x, out (T, H, 2 * HALF)."""
    for h in range(ct.num_tiles(x, axis=1, shape=(1, TILE_H, HALF))):
        put_heads(*turned(*halves(x, t, h, TILE_H, HALF), c, s), out, t, h)


def row_of(table, position, HALF):
    """Of cosines or sines."""
    return ct.load(table, (position, 0), (1, HALF)).astype(ct.float32)


def angles(cos, sin, position, HALF):
    """Cosines and sines of a position."""
    return row_of(cos, position, HALF), row_of(sin, position, HALF)


def weights_of(weight, HALF):
    """Both halves of them, none of none."""
    if weight is None:
        found = ()
    else:
        found = ct.load(weight, (0,), (HALF,)).astype(ct.float32), ct.load(weight, (1,), (HALF,)).astype(ct.float32)
    return found


def head_of(x, t, h, weights, eps, c, s, TILE_H, HALF):
    """`halves` after a norm, where there are weights for it, turned."""
    low, high = halves(x, t, h, TILE_H, HALF)
    if len(weights) > 0:
        low, high = normed(low, high, *weights, eps)
    return turned(low, high, c, s)


def prefill(q, k, v, q_weight, k_weight, cos, sin, starts, q_out, k_cache, v_cache, eps, TILE_H, HALF):
    """What `prefill_heads` does, and `prefill_normed_heads` with weights."""
    b = ct.bid(1)
    t = b * ct.num_blocks(0) + ct.bid(0)
    position = ct.load(starts, (b,), (1,)).item() + ct.bid(0)
    c, s = angles(cos, sin, position, HALF)
    weights = weights_of(q_weight, HALF)
    for h in range(ct.num_tiles(q, axis=1, shape=(1, TILE_H, HALF))):
        put_heads(*head_of(q, t, h, weights, eps, c, s, TILE_H, HALF), q_out, t, h)
    weights = weights_of(k_weight, HALF)
    for h in range(ct.num_tiles(k, axis=1, shape=(1, TILE_H, HALF))):
        keep_halves(*head_of(k, t, h, weights, eps, c, s, TILE_H, HALF), k_cache, b, h, position)
        keep_heads(v, v_cache, t, b, h, position, TILE_H, 2 * HALF)


def decode(q, k, v, q_weight, k_weight, cos, sin, positions, q_out, k_cache, v_cache, eps, TILE_H, HALF):
    """What `decode_heads` does, and `decode_normed_heads` with weights."""
    b = ct.bid(1)
    q_tiles = ct.num_tiles(q, axis=1, shape=(1, TILE_H, HALF))
    position = ct.load(positions, (b,), (1,)).item()
    c, s = angles(cos, sin, position, HALF)
    if ct.bid(0) < q_tiles:
        weights = weights_of(q_weight, HALF)
        put_heads(*head_of(q, b, ct.bid(0), weights, eps, c, s, TILE_H, HALF), q_out, b, ct.bid(0))
    else:
        h = ct.bid(0) - q_tiles
        weights = weights_of(k_weight, HALF)
        keep_halves(*head_of(k, b, h, weights, eps, c, s, TILE_H, HALF), k_cache, b, h, position)
        keep_heads(v, v_cache, b, b, h, position, TILE_H, 2 * HALF)


@ct.kernel
def rope(q, k, cos, sin, positions, q_out, k_out, TILE_H: ConstInt, HALF: ConstInt):
    """``out = (low * cos - high * sin, high * cos + low * sin)`` for every head of token t, at ``positions[t]``.

    q, q_out (T, HQ, 2 * HALF); k, k_out (T, HK, 2 * HALF); cos, sin (P, HALF); positions (T), in [0, P).
    Grid: T.
    """
    t = ct.bid(0)
    position = ct.load(positions, (t,), (1,)).item()
    c, s = angles(cos, sin, position, HALF)
    turn_heads(q, q_out, t, c, s, TILE_H, HALF)
    turn_heads(k, k_out, t, c, s, TILE_H, HALF)


@ct.kernel
def rope_in_place(cos, sin, positions, x, TILE_H: ConstInt, HALF: ConstInt):
    """`rope` that leaves its results where the heads were.

    Where one product made queries, keys and values side by side, ``x`` is all of its result but the values.

    cos, sin (P, HALF); positions (T), in [0, P); x (T, H, 2 * HALF).  Grid: T.
    """
    t = ct.bid(0)
    position = ct.load(positions, (t,), (1,)).item()
    c, s = angles(cos, sin, position, HALF)
    turn_heads(x, x, t, c, s, TILE_H, HALF)


@ct.kernel
def rope_backward(dq_out, dk_out, cos, sin, positions, dq, dk, TILE_H: ConstInt, HALF: ConstInt):
    """`rope` by the negative angle, which takes gradients of its results to those of queries and keys.

    dq_out, dq (T, HQ, 2 * HALF); dk_out, dk (T, HK, 2 * HALF); cos, sin (P, HALF); positions (T), in [0, P).  Grid: T.
    """
    t = ct.bid(0)
    position = ct.load(positions, (t,), (1,)).item()
    c, s = angles(cos, sin, position, HALF)
    turn_heads(dq_out, dq, t, c, -s, TILE_H, HALF)
    turn_heads(dk_out, dk, t, c, -s, TILE_H, HALF)


@ct.kernel
def rope_from(q, k, cos, sin, start, q_out, k_out, TILE_H: ConstInt, HALF: ConstInt):
    """`rope` of B sequences of S tokens, which all begin at the position ``start[0]``.

    q, q_out (B * S, HQ, 2 * HALF); k, k_out (B * S, HK, 2 * HALF); cos, sin (P, HALF); start (1), in [0, P - S].
    Grid: S, B.
    """
    position = ct.load(start, (0,), (1,)).item() + ct.bid(0)
    t = ct.bid(1) * ct.num_blocks(0) + ct.bid(0)
    c, s = angles(cos, sin, position, HALF)
    turn_heads(q, q_out, t, c, s, TILE_H, HALF)
    turn_heads(k, k_out, t, c, s, TILE_H, HALF)


@ct.kernel
def cache_update(k, v, k_cache, v_cache, start: int, TILE_H: ConstInt, TILE_D: ConstInt):
    """``cache[b, h, start + s] = new[b * S + s, h]`` for keys and values of S new tokens of every sequence.

    k, v (B * S, HK, D) with ``1 <= D <= TILE_D``; k_cache, v_cache (B, HK, P, D); 0 <= start <= P - S.  Grid: S, B.
    """
    b = ct.bid(1)
    position = start + ct.bid(0)
    t = b * ct.num_blocks(0) + ct.bid(0)
    for h in range(ct.num_tiles(k, axis=1, shape=(1, TILE_H, TILE_D))):
        keep_heads(k, k_cache, t, b, h, position, TILE_H, TILE_D)
        keep_heads(v, v_cache, t, b, h, position, TILE_H, TILE_D)


@ct.kernel
def cache_update_from(k, v, start, k_cache, v_cache, TILE_H: ConstInt, TILE_D: ConstInt):
    """`cache_update` with the position in an array.

    k, v (B * S, HK, D) with ``1 <= D <= TILE_D``; start (1), in [0, P - S]; k_cache, v_cache (B, HK, P, D).
    Grid: S, B.
    """
    b = ct.bid(1)
    position = ct.load(start, (0,), (1,)).item() + ct.bid(0)
    t = b * ct.num_blocks(0) + ct.bid(0)
    for h in range(ct.num_tiles(k, axis=1, shape=(1, TILE_H, TILE_D))):
        keep_heads(k, k_cache, t, b, h, position, TILE_H, TILE_D)
        keep_heads(v, v_cache, t, b, h, position, TILE_H, TILE_D)


@ct.kernel
def prefill_heads(q, k, v, cos, sin, starts, q_out, k_cache, v_cache, TILE_H: ConstInt, HALF: ConstInt):
    """`rope` of queries and keys of S new tokens of every sequence; keys and values go to the cache.

    q, q_out (B * S, HQ, 2 * HALF); k, v (B * S, HK, 2 * HALF); cos, sin (P, HALF); starts (B), the first new position
    of each sequence, in [0, P - S]; k_cache, v_cache (B, HK, P, 2 * HALF).  Grid: S, B.
    """
    prefill(q, k, v, None, None, cos, sin, starts, q_out, k_cache, v_cache, None, TILE_H, HALF)


@ct.kernel
def decode_heads(q, k, v, cos, sin, positions, q_out, k_cache, v_cache, TILE_H: ConstInt, HALF: ConstInt):
    """`prefill_heads` for one new token of each sequence, with a block for every tile of heads.

    q, q_out (B, HQ, 2 * HALF); k, v (B, HK, 2 * HALF); cos, sin (P, HALF); positions (B), in [0, P); k_cache, v_cache
    (B, HK, P, 2 * HALF).  Grid: cdiv(HQ, TILE_H) + cdiv(HK, TILE_H), B.
    """
    decode(q, k, v, None, None, cos, sin, positions, q_out, k_cache, v_cache, None, TILE_H, HALF)


@ct.kernel(occupancy=4)
def prefill_normed_heads(
    q, k, v, q_weight, k_weight, cos, sin, starts, q_out, k_cache, v_cache, eps: float, TILE_H: ConstInt, HALF: ConstInt
):
    """`prefill_heads` after `qk_norm`.

    Arrays as there, and q_weight, k_weight (2 * HALF).  Grid: S, B.
    """
    prefill(q, k, v, q_weight, k_weight, cos, sin, starts, q_out, k_cache, v_cache, eps, TILE_H, HALF)


@ct.kernel(occupancy=4)
def decode_normed_heads(
    q, k, v, q_weight, k_weight, cos, sin, positions, q_out, k_cache, v_cache, eps: float,
    TILE_H: ConstInt, HALF: ConstInt,
):  # fmt: skip
    """`decode_heads` after `qk_norm`.

    Arrays as there, and q_weight, k_weight (2 * HALF).  Grid: cdiv(HQ, TILE_H) + cdiv(HK, TILE_H), B.
    """
    decode(q, k, v, q_weight, k_weight, cos, sin, positions, q_out, k_cache, v_cache, eps, TILE_H, HALF)
