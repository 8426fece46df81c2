"""Products of a matrix of weights with one vector or a few, as in decoding: bound by how fast the weights are read.

Weights are [N, K], rows along K.  Sums run in float32 across a tile of rows and are added up once at the end.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def silu(x):
    return x / (1.0 + ct.exp(-x))


def products(x, weights, row, k, TILE_N, TILE_K):
    """Elementwise, in float32: a tile of rows of the weights times the vector's part."""
    part = ct.load(x, (k,), (TILE_K,), padding_mode=ZERO).astype(ct.float32)
    return ct.load(weights, (row, k), (TILE_N, TILE_K), padding_mode=ZERO).astype(ct.float32) * part[None, :]


@ct.kernel(occupancy=4)
def matvec(x, weights, out, TILE_N: ConstInt, TILE_K: ConstInt):
    """``weights x`` for x [K], weights [N, K], out [N].  Grid cdiv(N, TILE_N)."""
    row = ct.bid(0)
    acc = ct.zeros((TILE_N, TILE_K), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[0], TILE_K)):
        acc = acc + products(x, weights, row, k, TILE_N, TILE_K)
    ct.store(out, (row,), ct.sum(acc, axis=1).astype(out.dtype), allow_tma=False)


@ct.kernel(occupancy=4)
def matvec_add(x, weights, residual, out, TILE_N: ConstInt, TILE_K: ConstInt):
    """``weights x + residual`` for x [K], weights [N, K], residual and out [N].  Grid cdiv(N, TILE_N)."""
    row = ct.bid(0)
    acc = ct.zeros((TILE_N, TILE_K), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[0], TILE_K)):
        acc = acc + products(x, weights, row, k, TILE_N, TILE_K)
    before = ct.load(residual, (row,), (TILE_N,), padding_mode=ZERO).astype(ct.float32)
    ct.store(out, (row,), (before + ct.sum(acc, axis=1)).astype(out.dtype), allow_tma=False)


@ct.kernel(occupancy=4)
def matvec_gated(x, gates, weights, out, TILE_N: ConstInt, TILE_K: ConstInt):
    """``silu(gates x) * (weights x)`` for x [K], gates and weights [N, K], out [N].  Grid cdiv(N, TILE_N)."""
    row = ct.bid(0)
    acc_gate = ct.zeros((TILE_N, TILE_K), dtype=ct.float32)
    acc = ct.zeros((TILE_N, TILE_K), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[0], TILE_K)):
        acc_gate = acc_gate + products(x, gates, row, k, TILE_N, TILE_K)
        acc = acc + products(x, weights, row, k, TILE_N, TILE_K)
    result = silu(ct.sum(acc_gate, axis=1)) * ct.sum(acc, axis=1)
    ct.store(out, (row,), result.astype(out.dtype), allow_tma=False)


@ct.kernel(occupancy=4)
def matvec_normed(x, scales, weights, out, eps, TILE_N: ConstInt, TILE_K: ConstInt):
    """``weights (scales * x / rms(x))``: the norm is computed beside the product, and divides it at the end.

    x and scales [K], weights [N, K], out [N]; ``rms(x)`` is ``sqrt(mean(x²) + eps)``.  Requires K >= 1.
    Grid cdiv(N, TILE_N).
    """
    row = ct.bid(0)
    acc = ct.zeros((TILE_N, TILE_K), dtype=ct.float32)
    squares = ct.zeros((TILE_K,), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[0], TILE_K)):
        part = ct.load(x, (k,), (TILE_K,), padding_mode=ZERO).astype(ct.float32)
        squares = squares + part * part
        part = part * ct.load(scales, (k,), (TILE_K,), padding_mode=ZERO).astype(ct.float32)
        tile = ct.load(weights, (row, k), (TILE_N, TILE_K), padding_mode=ZERO).astype(ct.float32)
        acc = acc + tile * part[None, :]
    inverse = ct.rsqrt(ct.sum(squares) / x.shape[0] + eps)
    ct.store(out, (row,), (ct.sum(acc, axis=1) * inverse).astype(out.dtype), allow_tma=False)


@ct.kernel(occupancy=4)
def matvec_normed_gated(x, scales, gates, weights, out, eps, TILE_N: ConstInt, TILE_K: ConstInt):
    """`matvec_gated` of the vector that `matvec_normed` multiplies: the first half of a feed-forward layer.

    x and scales [K], gates and weights [N, K], out [N].  Requires K >= 1.  Grid cdiv(N, TILE_N).
    """
    row = ct.bid(0)
    acc_gate = ct.zeros((TILE_N, TILE_K), dtype=ct.float32)
    acc = ct.zeros((TILE_N, TILE_K), dtype=ct.float32)
    squares = ct.zeros((TILE_K,), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[0], TILE_K)):
        part = ct.load(x, (k,), (TILE_K,), padding_mode=ZERO).astype(ct.float32)
        squares = squares + part * part
        part = part * ct.load(scales, (k,), (TILE_K,), padding_mode=ZERO).astype(ct.float32)
        gate = ct.load(gates, (row, k), (TILE_N, TILE_K), padding_mode=ZERO).astype(ct.float32)
        acc_gate = acc_gate + gate * part[None, :]
        tile = ct.load(weights, (row, k), (TILE_N, TILE_K), padding_mode=ZERO).astype(ct.float32)
        acc = acc + tile * part[None, :]
    inverse = ct.rsqrt(ct.sum(squares) / x.shape[0] + eps)
    result = silu(ct.sum(acc_gate, axis=1) * inverse) * (ct.sum(acc, axis=1) * inverse)
    ct.store(out, (row,), result.astype(out.dtype), allow_tma=False)


def batch_products(x, weights, row, k, TILE_B, TILE_N, TILE_K):
    """`products` of each of the vectors."""
    parts = ct.load(x, (0, k), (TILE_B, TILE_K), padding_mode=ZERO).astype(ct.float32)
    tile = ct.load(weights, (row, k), (TILE_N, TILE_K), padding_mode=ZERO).astype(ct.float32)
    return parts[:, None, :] * tile[None, :, :]


@ct.kernel(occupancy=2)
def matvecs(x, weights, out, TILE_B: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``x weightsᵀ`` for a few vectors: x [B, K], weights [N, K], out [B, N]; weights are read once.

    Requires 1 <= B <= TILE_B, which is 8 at most, or registers do not suffice.  Grid cdiv(N, TILE_N).
    """
    row = ct.bid(0)
    acc = ct.zeros((TILE_B, TILE_N, TILE_K), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[1], TILE_K)):
        acc = acc + batch_products(x, weights, row, k, TILE_B, TILE_N, TILE_K)
    ct.store(out, (0, row), ct.sum(acc, axis=2).astype(out.dtype))


@ct.kernel(occupancy=2)
def matvecs_add(x, weights, residual, out, TILE_B: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``x weightsᵀ + residual`` for x [B, K], weights [N, K], residual and out [B, N].

    Requires 1 <= B <= TILE_B, as `matvecs`.  Grid cdiv(N, TILE_N).
    """
    row = ct.bid(0)
    acc = ct.zeros((TILE_B, TILE_N, TILE_K), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[1], TILE_K)):
        acc = acc + batch_products(x, weights, row, k, TILE_B, TILE_N, TILE_K)
    before = ct.load(residual, (0, row), (TILE_B, TILE_N), padding_mode=ZERO).astype(ct.float32)
    ct.store(out, (0, row), (before + ct.sum(acc, axis=2)).astype(out.dtype))


@ct.kernel(occupancy=2)
def matvecs_gated(x, gates, weights, out, TILE_B: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``silu(x gatesᵀ) * (x weightsᵀ)`` for x [B, K], gates and weights [N, K], out [B, N].

    Requires 1 <= B <= TILE_B, as `matvecs`.  Grid cdiv(N, TILE_N).
    """
    row = ct.bid(0)
    acc_gate = ct.zeros((TILE_B, TILE_N, TILE_K), dtype=ct.float32)
    acc = ct.zeros((TILE_B, TILE_N, TILE_K), dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[1], TILE_K)):
        acc_gate = acc_gate + batch_products(x, gates, row, k, TILE_B, TILE_N, TILE_K)
        acc = acc + batch_products(x, weights, row, k, TILE_B, TILE_N, TILE_K)
    result = silu(ct.sum(acc_gate, axis=2)) * ct.sum(acc, axis=2)
    ct.store(out, (0, row), result.astype(out.dtype))


@ct.kernel(occupancy=4)
def matvec_experts(x, weights, experts, out, TILE_N: ConstInt, TILE_K: ConstInt):
    """``weights[e] x`` for the chosen experts e of one vector: x [C, K], weights [E, N, K], experts i32[C], out [C, N].

    Row c of x goes to expert ``experts[c]``; if that is not in 0 to E - 1, the row of out is zero.
    Grid (cdiv(N, TILE_N), C).
    """
    row, c = ct.bid(0), ct.bid(1)
    expert = ct.load(experts, (c,), ()).item()
    steps = ct.cdiv(x.shape[1], TILE_K) if expert >= 0 and expert < weights.shape[0] else 0
    acc = ct.zeros((TILE_N, TILE_K), dtype=ct.float32)
    for k in range(steps):
        part = ct.load(x, (c, k), (1, TILE_K), padding_mode=ZERO).astype(ct.float32)
        tile = ct.load(weights, (expert, row, k), (1, TILE_N, TILE_K), padding_mode=ZERO)
        acc = acc + tile.reshape((TILE_N, TILE_K)).astype(ct.float32) * part
    ct.store(out, (c, row), ct.sum(acc, axis=1).reshape((1, TILE_N)).astype(out.dtype))
