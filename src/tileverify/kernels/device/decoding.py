"""One step of a decoder for a few sequences, in kernels that may start while the one ahead of them still runs.

Activations are [B, ...], a row for each sequence, with 1 <= B <= TILE_B; weights are [N, K], rows along K.  Every
block loads AHEAD columns of weights, which no kernel of a step writes, and waits only then for the kernel ahead.  AHEAD
is a multiple of TILE_K, the columns of all other tiles.  Sums run in float32: elementwise in kernels that are called
``step``, by tensor cores in those that are called ``steps``.

Token numbers and positions come from arrays, so that a graph of a step is replayed without change.  They are held
inside tables and caches whatever they are: no launch rests on what an array holds.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO
LOG2_E = 1.4426950408889634
MASKED = -1.0e30
"""Instead of minus infinity, whose differences are no numbers."""
NEGATIVE_INFINITY = float("-inf")
NO_PLACE = 2**31 - 1


def after_the_one_ahead():
    """The next kernel may start; what comes then sees all that the kernel ahead wrote."""
    ct.grid_dependency_control_launch_dependents()
    ct.grid_dependency_control_wait()


def silu(x):
    return x / (1.0 + ct.exp(-x))


def nothing(TILE_B, TILE_N, TILE_K, MMA):
    """Sums before the first tile."""
    return ct.zeros((TILE_N, TILE_B) if MMA else (TILE_B, TILE_N, TILE_K), dtype=ct.float32)


def further(acc, parts, tile, MMA):
    """Products of parts of the vectors, as `rows_of` gives them, with a tile of weights [TILE_N, TILE_K]."""
    if MMA:
        acc = ct.mma(tile, parts.astype(tile.dtype), acc)
    else:
        acc = acc + parts[:, None, :] * tile.astype(ct.float32)[None, :, :]
    return acc


def added_up(acc, MMA):
    """As f32[TILE_B, TILE_N], or the other way round by tensor cores."""
    return acc if MMA else ct.sum(acc, axis=2)


def of_one_tile(parts, tile, TILE_B, TILE_N, AHEAD, MMA):
    """What the columns that were loaded ahead add, as `added_up`."""
    if MMA:
        result = further(nothing(TILE_B, TILE_N, AHEAD, MMA), parts, tile, MMA)
    else:
        result = ct.sum(parts[:, None, :] * tile.astype(ct.float32)[None, :, :], axis=2)
    return result


def by_sequence(result, MMA):
    """f32[TILE_B, TILE_N] of what `added_up` gave."""
    return ct.transpose(result) if MMA else result


def rows_of(x, k, TILE_B, TILE_K, MMA):
    """Parts of the vectors, f32[TILE_B, TILE_K], or the other way round by tensor cores."""
    if MMA:
        parts = ct.load(x, (k, 0), (TILE_K, TILE_B), order="F", padding_mode=ZERO)
    else:
        parts = ct.load(x, (0, k), (TILE_B, TILE_K), padding_mode=ZERO)
    return parts.astype(ct.float32)


def weights_of(weights, row, k, TILE_N, TILE_K):
    return ct.load(weights, (row, k), (TILE_N, TILE_K), padding_mode=ZERO)


def scales_of(scales, k, TILE_K, MMA):
    scale = ct.load(scales, (k,), (TILE_K,), padding_mode=ZERO).astype(ct.float32)
    return scale[:, None] if MMA else scale[None, :]


def inverse_rms(first, squares, count, eps, MMA):
    """Of each vector, from the squares of its first elements and of the others."""
    axis = 0 if MMA else 1
    total = ct.sum(first, axis=axis, keepdims=True) + ct.sum(squares, axis=axis, keepdims=True)
    return ct.rsqrt(total / count + eps)


def inside(position, size):
    return min(max(position, 0), size - 1)


# ------------------------------------------------------------------------------------------------ products
def normed_product(x, scales, weights, eps, TILE_B, TILE_N, AHEAD, TILE_K, MMA):
    """f32[TILE_B, TILE_N]: what `step_normed` stores."""
    row = ct.bid(0)
    loaded = weights_of(weights, row, 0, TILE_N, AHEAD)
    scale = scales_of(scales, 0, AHEAD, MMA)
    after_the_one_ahead()
    head = rows_of(x, 0, TILE_B, AHEAD, MMA)
    first, begun = head * head, of_one_tile(head * scale, loaded, TILE_B, TILE_N, AHEAD, MMA)
    squares = ct.zeros((TILE_K, TILE_B) if MMA else (TILE_B, TILE_K), dtype=ct.float32)
    acc = nothing(TILE_B, TILE_N, TILE_K, MMA)
    for k in range(AHEAD // TILE_K, ct.cdiv(x.shape[1], TILE_K)):
        tile = weights_of(weights, row, k, TILE_N, TILE_K)
        parts = rows_of(x, k, TILE_B, TILE_K, MMA)
        squares = squares + parts * parts
        acc = further(acc, parts * scales_of(scales, k, TILE_K, MMA), tile, MMA)
    return by_sequence((begun + added_up(acc, MMA)) * inverse_rms(first, squares, x.shape[1], eps, MMA), MMA)


def normed_gated_product(x, scales, gates, weights, eps, TILE_B, TILE_N, AHEAD, TILE_K, MMA):
    """f32[TILE_B, TILE_N]: what `step_normed_gated` stores."""
    row = ct.bid(0)
    loaded_gate = weights_of(gates, row, 0, TILE_N, AHEAD)
    loaded = weights_of(weights, row, 0, TILE_N, AHEAD)
    scale = scales_of(scales, 0, AHEAD, MMA)
    after_the_one_ahead()
    head = rows_of(x, 0, TILE_B, AHEAD, MMA)
    first = head * head
    begun_gate = of_one_tile(head * scale, loaded_gate, TILE_B, TILE_N, AHEAD, MMA)
    begun = of_one_tile(head * scale, loaded, TILE_B, TILE_N, AHEAD, MMA)
    squares = ct.zeros((TILE_K, TILE_B) if MMA else (TILE_B, TILE_K), dtype=ct.float32)
    acc_gate, acc = nothing(TILE_B, TILE_N, TILE_K, MMA), nothing(TILE_B, TILE_N, TILE_K, MMA)
    for k in range(AHEAD // TILE_K, ct.cdiv(x.shape[1], TILE_K)):
        gate = weights_of(gates, row, k, TILE_N, TILE_K)
        tile = weights_of(weights, row, k, TILE_N, TILE_K)
        parts = rows_of(x, k, TILE_B, TILE_K, MMA)
        squares = squares + parts * parts
        parts = parts * scales_of(scales, k, TILE_K, MMA)
        acc_gate = further(acc_gate, parts, gate, MMA)
        acc = further(acc, parts, tile, MMA)
    inverse = inverse_rms(first, squares, x.shape[1], eps, MMA)
    gate_sums = (begun_gate + added_up(acc_gate, MMA)) * inverse
    return by_sequence(silu(gate_sums) * ((begun + added_up(acc, MMA)) * inverse), MMA)


def plain_product(x, weights, TILE_B, TILE_N, AHEAD, TILE_K, MMA):
    """f32[TILE_B, TILE_N]: what `step_add` adds."""
    row = ct.bid(0)
    loaded = weights_of(weights, row, 0, TILE_N, AHEAD)
    after_the_one_ahead()
    begun = of_one_tile(rows_of(x, 0, TILE_B, AHEAD, MMA), loaded, TILE_B, TILE_N, AHEAD, MMA)
    acc = nothing(TILE_B, TILE_N, TILE_K, MMA)
    for k in range(AHEAD // TILE_K, ct.cdiv(x.shape[1], TILE_K)):
        tile = weights_of(weights, row, k, TILE_N, TILE_K)
        acc = further(acc, rows_of(x, k, TILE_B, TILE_K, MMA), tile, MMA)
    return by_sequence(begun + added_up(acc, MMA), MMA)


def keep_largest(logits, count, maxima, places, TILE_N):
    """Of f32[TILE_B, TILE_N], which are some of ``count``: the largest of each row, and where it is."""
    row = ct.bid(0)
    at = row * TILE_N + ct.arange(TILE_N, dtype=ct.int32)[None, :]
    logits = ct.where(at < count, logits, NEGATIVE_INFINITY)
    highest = ct.max(logits, axis=1, keepdims=True)
    place = ct.min(ct.where(logits == highest, at, NO_PLACE), axis=1, keepdims=True)
    ct.store(maxima, (0, row), highest)
    ct.store(places, (0, row), ct.where(place == NO_PLACE, 0, place))


@ct.kernel(occupancy=4)
def step_normed(
    x, scales, weights, out, eps,
    TILE_B: ConstInt, TILE_N: ConstInt, AHEAD: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """``normed weightsᵀ`` for ``normed = scales * x / sqrt(mean(x²) + eps)``, which divides at the end.

    x [B, K], scales [K], weights [N, K], out [B, N].  Requires 1 <= B <= TILE_B and K >= 1.  Grid cdiv(N, TILE_N).
    """
    result = normed_product(x, scales, weights, eps, TILE_B, TILE_N, AHEAD, TILE_K, False)
    ct.store(out, (0, ct.bid(0)), result.astype(out.dtype))


@ct.kernel(occupancy=4)
def step_normed_gated(
    x, scales, gates, weights, out, eps,
    TILE_B: ConstInt, TILE_N: ConstInt, AHEAD: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """``silu(normed gatesᵀ) * (normed weightsᵀ)`` for ``normed`` as in `step_normed`.

    x [B, K], scales [K], gates and weights [N, K], out [B, N].  Requires 1 <= B <= TILE_B and K >= 1.
    Grid cdiv(N, TILE_N).
    """
    result = normed_gated_product(x, scales, gates, weights, eps, TILE_B, TILE_N, AHEAD, TILE_K, False)
    ct.store(out, (0, ct.bid(0)), result.astype(out.dtype))


@ct.kernel(occupancy=4)
def step_add(
    x, weights, residual, out,
    TILE_B: ConstInt, TILE_N: ConstInt, AHEAD: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """``x weightsᵀ + residual`` for x [B, K], weights [N, K], residual and out [B, N].

    Requires 1 <= B <= TILE_B and K >= 1.  Grid cdiv(N, TILE_N).
    """
    result = plain_product(x, weights, TILE_B, TILE_N, AHEAD, TILE_K, False)
    before = ct.load(residual, (0, ct.bid(0)), (TILE_B, TILE_N), padding_mode=ZERO).astype(ct.float32)
    ct.store(out, (0, ct.bid(0)), (before + result).astype(out.dtype))


@ct.kernel(occupancy=4)
def step_largest(
    x, scales, weights, maxima, places, eps,
    TILE_B: ConstInt, TILE_N: ConstInt, AHEAD: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """The largest of TILE_N elements of what `step_normed` computes, and where it is: the first of equal ones.

    x [B, K], scales [K], weights [N, K]; maxima f32[B, P] and places i32[B, P] for P = cdiv(N, TILE_N).  What is no
    number is never chosen.  Requires 1 <= B <= TILE_B and K >= 1.  Grid P.
    """
    logits = normed_product(x, scales, weights, eps, TILE_B, TILE_N, AHEAD, TILE_K, False)
    keep_largest(logits, weights.shape[0], maxima, places, TILE_N)


# By tensor cores, for which tiles have 64 rows or more: as many blocks as for elementwise sums would not have room.


@ct.kernel(occupancy=2)
def steps_normed(
    x, scales, weights, out, eps,
    TILE_B: ConstInt, TILE_N: ConstInt, AHEAD: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """`step_normed` of several sequences, by tensor cores: f16 or bf16, and TILE_B at least 8."""
    result = normed_product(x, scales, weights, eps, TILE_B, TILE_N, AHEAD, TILE_K, True)
    ct.store(out, (0, ct.bid(0)), result.astype(out.dtype))


@ct.kernel(occupancy=2)
def steps_normed_gated(
    x, scales, gates, weights, out, eps,
    TILE_B: ConstInt, TILE_N: ConstInt, AHEAD: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """`step_normed_gated` of several sequences, by tensor cores: f16 or bf16, and TILE_B at least 8."""
    result = normed_gated_product(x, scales, gates, weights, eps, TILE_B, TILE_N, AHEAD, TILE_K, True)
    ct.store(out, (0, ct.bid(0)), result.astype(out.dtype))


@ct.kernel(occupancy=2)
def steps_add(
    x, weights, residual, out,
    TILE_B: ConstInt, TILE_N: ConstInt, AHEAD: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """`step_add` of several sequences, by tensor cores: f16 or bf16, and TILE_B at least 8."""
    result = plain_product(x, weights, TILE_B, TILE_N, AHEAD, TILE_K, True)
    before = ct.load(residual, (0, ct.bid(0)), (TILE_B, TILE_N), padding_mode=ZERO).astype(ct.float32)
    ct.store(out, (0, ct.bid(0)), (before + result).astype(out.dtype))


@ct.kernel(occupancy=2)
def steps_largest(
    x, scales, weights, maxima, places, eps,
    TILE_B: ConstInt, TILE_N: ConstInt, AHEAD: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """`step_largest` of several sequences, by tensor cores: f16 or bf16, and TILE_B at least 8."""
    logits = normed_product(x, scales, weights, eps, TILE_B, TILE_N, AHEAD, TILE_K, True)
    keep_largest(logits, weights.shape[0], maxima, places, TILE_N)


# ------------------------------------------------------------------------------------------------ attention
# What is small is read and written without bulk copies, which wait for one another; keys and values come by them.


def halves(x, b, h, HALF):
    """Both halves of one head, f32[1, HALF]; x [B, HK, 1, 2 * HALF]."""
    low = ct.load(x, (b, h, 0, 0), (1, 1, 1, HALF), allow_tma=False).reshape((1, HALF))
    high = ct.load(x, (b, h, 0, 1), (1, 1, 1, HALF), allow_tma=False).reshape((1, HALF))
    return low.astype(ct.float32), high.astype(ct.float32)


def halves_of_all(x, b, h, TILE_H, HALF):
    """Both halves of a few heads, f32[TILE_H, HALF]; x [B, HK, G, 2 * HALF].  A load waits here for no other one."""
    heads, columns = ct.arange(TILE_H, dtype=ct.int32)[:, None], ct.arange(HALF, dtype=ct.int32)[None, :]
    low, high = ct.gather(x, (b, h, heads, columns)), ct.gather(x, (b, h, heads, columns + HALF))
    return low.astype(ct.float32), high.astype(ct.float32)


def half_of(vector, part, HALF):
    return ct.load(vector, (part,), (HALF,), allow_tma=False).astype(ct.float32)[None, :]


def normed_and_turned(low, high, scales, c, s, eps, HALF):
    """Both halves after a norm of each head, turned by the angle of its position; ``scales`` are halves, too."""
    inverse = ct.rsqrt(ct.sum(low * low + high * high, axis=1, keepdims=True) / (2 * HALF) + eps)
    low, high = low * inverse * scales[0], high * inverse * scales[1]
    return low * c - high * s, high * c + low * s


def keys_of(k_cache, b, h, part, split, HALF, TILE_N):
    """Half of a tile of keys, [HALF, TILE_N]."""
    shape = (1, 1, HALF, TILE_N)
    keys = ct.load(k_cache, (b, h, part, split), shape, order=(0, 1, 3, 2), padding_mode=ZERO)
    return keys.reshape((HALF, TILE_N))


def keep(cache, b, h, position, part, tile):
    shape = (1, 1, 1, tile.shape[1])
    ct.store(cache, (b, h, position, part), tile.reshape(shape).astype(cache.dtype), allow_tma=False)


def attend(
    q, k, v, q_weight, k_weight, cos, sin, positions, k_cache, v_cache, parts, maxima, sums, eps, scale,
    TILE_H, TILE_N, HALF,
):  # fmt: skip
    """What `step_attention` does.  The new key and value are taken from the registers, apart from those of the tile."""
    split, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    ct.grid_dependency_control_launch_dependents()
    position = inside(ct.load(positions, (b,), (1,), allow_tma=False).item(), k_cache.shape[2])
    turn = min(position, cos.shape[0] - 1)
    c = ct.load(cos, (turn, 0), (1, HALF), allow_tma=False).astype(ct.float32)
    s = ct.load(sin, (turn, 0), (1, HALF), allow_tma=False).astype(ct.float32)
    ct.grid_dependency_control_wait()
    if split * TILE_N <= position:
        keys_low = keys_of(k_cache, b, h, 0, split, HALF, TILE_N)
        keys_high = keys_of(k_cache, b, h, 1, split, HALF, TILE_N)
        values = ct.load(v_cache, (b, h, split, 0), (1, 1, TILE_N, 2 * HALF), padding_mode=ZERO)
        at = split * TILE_N + ct.arange(TILE_N, dtype=ct.int32)
        # What lies behind the position was never written, and may be no number.
        values = ct.where(at[:, None] < position, values.reshape((TILE_N, 2 * HALF)), 0)
        q_scales = half_of(q_weight, 0, HALF), half_of(q_weight, 1, HALF)
        k_scales = half_of(k_weight, 0, HALF), half_of(k_weight, 1, HALF)
        q_low, q_high = halves_of_all(q, b, h, TILE_H, HALF)
        k_low, k_high = halves(k, b, h, HALF)
        value = ct.load(v, (b, h, 0, 0), (1, 1, 1, 2 * HALF), allow_tma=False).reshape((1, 2 * HALF))
        q_low, q_high = normed_and_turned(q_low, q_high, q_scales, c, s, eps, HALF)
        k_low, k_high = normed_and_turned(k_low, k_high, k_scales, c, s, eps, HALF)
        scores = ct.zeros((TILE_H, TILE_N), dtype=ct.float32)
        scores = ct.mma(q_low.astype(k_cache.dtype), keys_low, scores)
        scores = ct.mma(q_high.astype(k_cache.dtype), keys_high, scores)
        scores = ct.where(at[None, :] < position, scores * (scale * LOG2_E), MASKED)
        own = position < (split + 1) * TILE_N
        of_new = ct.sum(q_low * k_low + q_high * k_high, axis=1, keepdims=True) * (scale * LOG2_E)
        of_new = ct.where(own, of_new, MASKED)
        highest = ct.maximum(ct.max(scores, axis=1, keepdims=True), of_new)
        powers = ct.where(at[None, :] < position, ct.exp2(scores - highest, flush_to_zero=True), 0.0)
        power = ct.where(own, ct.exp2(of_new - highest, flush_to_zero=True), 0.0)
        acc = ct.mma(powers.astype(values.dtype), values, power * value.astype(ct.float32))
        total = ct.sum(powers, axis=1, keepdims=True) + power
        ct.store(parts, (b, h, split, 0, 0), acc.reshape((1, 1, 1, TILE_H, 2 * HALF)), allow_tma=False)
        ct.store(maxima, (b, h, split, 0), highest.reshape((1, 1, 1, TILE_H)), allow_tma=False)
        ct.store(sums, (b, h, split, 0), total.reshape((1, 1, 1, TILE_H)), allow_tma=False)
        if own:
            keep(k_cache, b, h, position, 0, k_low)
            keep(k_cache, b, h, position, 1, k_high)
            keep(v_cache, b, h, position, 0, value)


@ct.kernel(occupancy=2)
def step_attention(
    q, k, v, q_weight, k_weight, cos, sin, positions, k_cache, v_cache, parts, maxima, sums, eps, scale,
    TILE_H: ConstInt, TILE_N: ConstInt, HALF: ConstInt,
):  # fmt: skip
    """Head norms, rotary positions, the write to the cache, and attention to one of P tiles of TILE_N keys.

    q [B, HK, G, 2 * HALF], k and v [B, HK, 1, 2 * HALF]: a new token of each sequence; q_weight, k_weight [2 * HALF];
    cos, sin [R, HALF]; positions [B]; k_cache and v_cache [B, HK, S, 2 * HALF].  The new key and value go to the
    sequence's position, and its queries see the keys up to there.  parts f32[B, HK, P, G, 2 * HALF] are the weighted
    values, not divided yet, maxima and sums f32[B, HK, P, G]: base-2 logarithms and sums of powers.
    The tile in which the position lies takes the new key from the registers, and nobody else reads where it is written.

    Requires 1 <= G <= TILE_H, S >= 1, R >= 1 and P = cdiv(S, TILE_N).  Grid (P, HK, B).
    """
    attend(
        q, k, v, q_weight, k_weight, cos, sin, positions, k_cache, v_cache, parts, maxima, sums, eps, scale,
        TILE_H, TILE_N, HALF,
    )  # fmt: skip


@ct.kernel(occupancy=3)
def steps_attention(
    q, k, v, q_weight, k_weight, cos, sin, positions, k_cache, v_cache, parts, maxima, sums, eps, scale,
    TILE_H: ConstInt, TILE_N: ConstInt, HALF: ConstInt,
):  # fmt: skip
    """`step_attention` for several sequences: more blocks have room at once, and each takes longer."""
    attend(
        q, k, v, q_weight, k_weight, cos, sin, positions, k_cache, v_cache, parts, maxima, sums, eps, scale,
        TILE_H, TILE_N, HALF,
    )  # fmt: skip


@ct.kernel(occupancy=8)
def step_merge(parts, maxima, sums, positions, out, TILE_P: ConstInt, TILE_D: ConstInt, TILE_N: ConstInt):
    """The tiles of keys up to each sequence's position put together, as `step_attention` with this TILE_N leaves them.

    parts f32[B, HK, P, G, D], maxima and sums f32[B, HK, P, G], positions [B], out [B, HK, G, D].
    Requires P >= 1 and 1 <= D <= TILE_D.  Grid (G, HK, B).
    """
    g, h, b = ct.bid(0), ct.bid(1), ct.bid(2)
    count = min(max(ct.load(positions, (b,), (1,), allow_tma=False).item(), 0) // TILE_N + 1, parts.shape[2])
    after_the_one_ahead()
    highest = ct.full((1, 1), MASKED, dtype=ct.float32)
    total = ct.zeros((1, 1), dtype=ct.float32)
    acc = ct.zeros((1, TILE_D), dtype=ct.float32)
    for j in range(ct.cdiv(count, TILE_P)):
        own = (j * TILE_P + ct.arange(TILE_P, dtype=ct.int32) < count)[:, None]
        logarithms = ct.load(maxima, (b, h, j, g), (1, 1, TILE_P, 1), padding_mode=ZERO, allow_tma=False)
        logarithms = logarithms.reshape((TILE_P, 1))
        logarithms = ct.where(own, logarithms, MASKED)
        now_highest = ct.maximum(highest, ct.max(logarithms, axis=0, keepdims=True))
        shares = ct.where(own, ct.exp2(logarithms - now_highest, flush_to_zero=True), 0.0)
        fade = ct.exp2(highest - now_highest, flush_to_zero=True)
        part = ct.load(parts, (b, h, j, g, 0), (1, 1, TILE_P, 1, TILE_D), padding_mode=ZERO, allow_tma=False)
        part = ct.where(own, part.reshape((TILE_P, TILE_D)), 0.0)
        powers = ct.load(sums, (b, h, j, g), (1, 1, TILE_P, 1), padding_mode=ZERO, allow_tma=False).reshape((TILE_P, 1))
        powers = ct.where(own, powers, 0.0)
        acc = acc * fade + ct.sum(part * shares, axis=0, keepdims=True)
        total = total * fade + ct.sum(powers * shares, axis=0, keepdims=True)
        highest = now_highest
    ct.store(out, (b, h, g, 0), (acc / total).reshape((1, 1, 1, TILE_D)).astype(out.dtype), allow_tma=False)


# --------------------------------------------------------------------------------------------------- prompts
@ct.kernel(occupancy=4)
def prompt_heads(
    q, k, v, q_weight, k_weight, cos, sin, start: int, q_out, k_cache, v_cache, eps, TILE_H: ConstInt, HALF: ConstInt
):  # fmt: skip
    """Head norms and rotary positions of T tokens of one sequence, the first of which is at ``start``.

    q [T, HQ, 2 * HALF], k and v [T, HK, 2 * HALF]; q_weight, k_weight [2 * HALF]; cos, sin [R, HALF]; q_out
    [HQ, T, 2 * HALF]; k_cache, v_cache [HK, S, 2 * HALF].  Requires 0 <= start, start + T <= S and R.  Grid T.
    """
    t = ct.bid(0)
    position = start + t
    c = ct.load(cos, (position, 0), (1, HALF)).astype(ct.float32)
    s = ct.load(sin, (position, 0), (1, HALF)).astype(ct.float32)
    q_scales = half_of(q_weight, 0, HALF), half_of(q_weight, 1, HALF)
    k_scales = half_of(k_weight, 0, HALF), half_of(k_weight, 1, HALF)
    for h in range(ct.num_tiles(q, axis=1, shape=(1, TILE_H, HALF))):
        low = ct.load(q, (t, h, 0), (1, TILE_H, HALF), padding_mode=ZERO).reshape((TILE_H, HALF)).astype(ct.float32)
        high = ct.load(q, (t, h, 1), (1, TILE_H, HALF), padding_mode=ZERO).reshape((TILE_H, HALF)).astype(ct.float32)
        low, high = normed_and_turned(low, high, q_scales, c, s, eps, HALF)
        ct.store(q_out, (h, t, 0), low.reshape((TILE_H, 1, HALF)).astype(q_out.dtype))
        ct.store(q_out, (h, t, 1), high.reshape((TILE_H, 1, HALF)).astype(q_out.dtype))
    for h in range(ct.num_tiles(k, axis=1, shape=(1, TILE_H, HALF))):
        low = ct.load(k, (t, h, 0), (1, TILE_H, HALF), padding_mode=ZERO).reshape((TILE_H, HALF)).astype(ct.float32)
        high = ct.load(k, (t, h, 1), (1, TILE_H, HALF), padding_mode=ZERO).reshape((TILE_H, HALF)).astype(ct.float32)
        low, high = normed_and_turned(low, high, k_scales, c, s, eps, HALF)
        ct.store(k_cache, (h, position, 0), low.reshape((TILE_H, 1, HALF)).astype(k_cache.dtype))
        ct.store(k_cache, (h, position, 1), high.reshape((TILE_H, 1, HALF)).astype(k_cache.dtype))
        value = ct.load(v, (t, h, 0), (1, TILE_H, 2 * HALF), padding_mode=ZERO)
        ct.store(v_cache, (h, position, 0), value.reshape((TILE_H, 1, 2 * HALF)).astype(v_cache.dtype))
