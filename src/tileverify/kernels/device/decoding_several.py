"""The products of a decoder's step for several sequences, by tensor cores, as fast as memory gives the weights.

Activations are [B, K], a row for each sequence, with 1 <= B <= TILE_B; weights are [N, K], rows along K; f16 or bf16.
The compiler streams tiles of both from memory, many of them ahead, as long as nothing is done with a tile but to
multiply it.  So a vector that a norm comes behind is handed on in two parts, by whoever computes it: ``scaled``, each
element times the norm's scale for it, and ``squares`` f32[B, P], sums of squares of some elements each.  The products
of ``scaled`` are then divided by the norm of the whole.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]

ZERO = ct.PaddingMode.ZERO

SQUARES = 64
"""Sums of squares that are read at once."""


def after_the_one_ahead():
    """The next kernel may start; what comes then sees all that the kernel ahead wrote."""
    ct.grid_dependency_control_launch_dependents()
    ct.grid_dependency_control_wait()


def silu(x):
    return x / (1.0 + ct.exp(-x))


def tile_of(weights, row, k, TILE_N, TILE_K):
    return ct.load(weights, (row, k), (TILE_N, TILE_K), padding_mode=ZERO)


def vectors_of(x, k, TILE_B, TILE_K):
    """Parts of the vectors, [TILE_K, TILE_B]."""
    return ct.load(x, (k, 0), (TILE_K, TILE_B), order="F", padding_mode=ZERO)


def product(x, weights, TILE_B, TILE_N, TILE_K):
    """f32[TILE_N, TILE_B]: a group of rows of weights by the vectors."""
    acc = ct.zeros((TILE_N, TILE_B), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[1], TILE_K)):
        tile = tile_of(weights, ct.bid(0), k, TILE_N, TILE_K)
        acc = ct.mma(tile, vectors_of(x, k, TILE_B, TILE_K), acc)
    return acc


def inverse_rms(squares, count, eps, TILE_B):
    """Of each vector, f32[1, TILE_B], from all its sums of squares."""
    total = ct.zeros((TILE_B, SQUARES), dtype=ct.float32)
    for j in range(ct.cdiv(squares.shape[1], SQUARES)):
        total = total + ct.load(squares, (0, j), (TILE_B, SQUARES), padding_mode=ZERO, allow_tma=False)
    return ct.transpose(ct.rsqrt(ct.sum(total, axis=1, keepdims=True) / count + eps))


def hand_on(values, scales, out, scaled, squares, row, j, TILE_B, TILE_N):
    """Some elements of vectors, f32[TILE_B, TILE_N], as they are and for the norm behind them; group ``j`` of them."""
    values = values.astype(out.dtype)
    ct.store(out, (row, j), values)
    values = values.astype(ct.float32)
    scale = ct.load(scales, (j,), (TILE_N,), padding_mode=ZERO, allow_tma=False).astype(ct.float32)
    ct.store(scaled, (row, j), (values * scale[None, :]).astype(scaled.dtype))
    ct.store(squares, (row, j), ct.sum(values * values, axis=1, keepdims=True))


@ct.kernel(occupancy=2)
def several_rows(table, ids, scales, out, scaled, squares, TILE_N: ConstInt):
    """``out[b] = table[ids[b]]``, the first or last row for a number that is none, and what a norm behind it needs.

    table [V, N] with V >= 1, ids [B], scales [N], out and scaled [B, N], squares f32[B, cdiv(N, TILE_N)].
    Grid (cdiv(N, TILE_N), B).
    """
    j, b = ct.bid(0), ct.bid(1)
    after_the_one_ahead()
    row = min(max(ct.load(ids, (b,), (1,)).item(), 0), table.shape[0] - 1)
    values = ct.load(table, (row, j), (1, TILE_N), padding_mode=ZERO).astype(ct.float32)
    hand_on(values, scales, out, scaled, squares, b, j, 1, TILE_N)


def add(x, weights, residual, scales, out, scaled, squares, TILE_B, TILE_N, TILE_K):
    """What `several_add` does."""
    j = ct.bid(0)
    after_the_one_ahead()
    sums = ct.transpose(product(x, weights, TILE_B, TILE_N, TILE_K))
    before = ct.load(residual, (0, j), (TILE_B, TILE_N), padding_mode=ZERO).astype(ct.float32)
    hand_on(before + sums, scales, out, scaled, squares, 0, j, TILE_B, TILE_N)


def gated(x, squares, gates, weights, out, eps, TILE_B, TILE_N, TILE_K):
    """What `several_normed_gated` does."""
    after_the_one_ahead()
    inverse = inverse_rms(squares, x.shape[1], eps, TILE_B)
    gate_acc = ct.zeros((TILE_N, TILE_B), dtype=ct.float32)
    acc = ct.zeros((TILE_N, TILE_B), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[1], TILE_K)):
        gate = tile_of(gates, ct.bid(0), k, TILE_N, TILE_K)
        tile = tile_of(weights, ct.bid(0), k, TILE_N, TILE_K)
        parts = vectors_of(x, k, TILE_B, TILE_K)
        gate_acc = ct.mma(gate, parts, gate_acc)
        acc = ct.mma(tile, parts, acc)
    sums = silu(gate_acc * inverse) * (acc * inverse)
    ct.store(out, (0, ct.bid(0)), ct.transpose(sums).astype(out.dtype))


@ct.kernel(occupancy=1)
def several_add(
    x, weights, residual, scales, out, scaled, squares,
    TILE_B: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """``x weightsᵀ + residual``, and what a norm behind it needs.

    x [B, K], weights [N, K], residual, out and scaled [B, N], scales [N], squares f32[B, cdiv(N, TILE_N)].
    Requires 1 <= B <= TILE_B and K >= 1.  Grid cdiv(N, TILE_N).
    """
    add(x, weights, residual, scales, out, scaled, squares, TILE_B, TILE_N, TILE_K)


@ct.kernel(occupancy=2)
def several_add_many(
    x, weights, residual, scales, out, scaled, squares,
    TILE_B: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """`several_add` of many rows of weights: two blocks have room at once."""
    add(x, weights, residual, scales, out, scaled, squares, TILE_B, TILE_N, TILE_K)


@ct.kernel(occupancy=1)
def several_normed(x, squares, weights, out, eps, TILE_B: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``normed weightsᵀ`` for ``normed = x / sqrt(the sum of all squares / K + eps)``, which divides at the end.

    x [B, K] and squares f32[B, P] as `several_add` leaves them in ``scaled`` and ``squares``, weights [N, K],
    out [B, N].  Requires 1 <= B <= TILE_B and K >= 1.  Grid cdiv(N, TILE_N).
    """
    after_the_one_ahead()
    inverse = inverse_rms(squares, x.shape[1], eps, TILE_B)
    sums = product(x, weights, TILE_B, TILE_N, TILE_K) * inverse
    ct.store(out, (0, ct.bid(0)), ct.transpose(sums).astype(out.dtype))


@ct.kernel(occupancy=3)
def several_normed_gated(x, squares, gates, weights, out, eps, TILE_B: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``silu(normed gatesᵀ) * (normed weightsᵀ)`` for ``normed`` as in `several_normed`.

    x [B, K], squares f32[B, P], gates and weights [N, K], out [B, N].  Requires 1 <= B <= TILE_B and K >= 1.
    Grid cdiv(N, TILE_N).  Has room beside a block of `several_add`, so that its blocks spread over the whole GPU.
    """
    gated(x, squares, gates, weights, out, eps, TILE_B, TILE_N, TILE_K)


@ct.kernel(occupancy=1)
def several_normed_gated_many(
    x, squares, gates, weights, out, eps,
    TILE_B: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt,
):  # fmt: skip
    """`several_normed_gated` of many rows of weights: one block at a time has all the room."""
    gated(x, squares, gates, weights, out, eps, TILE_B, TILE_N, TILE_K)
