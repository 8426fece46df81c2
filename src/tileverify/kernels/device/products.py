"""Matrix products.

Where it pays, blocks take the tiles of the result in groups of rows, so that those that run together share operands in
the L2 cache: see `place`.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


def place():
    """Row and column of a block's tile.

    Grid (G, columns, cdiv(rows, G)) for any G: blocks start along x first, so that G rows go by, column by column,
    before the next ones.  The last of these groups may be shorter.
    """
    return ct.bid(2) * ct.num_blocks(0) + ct.bid(0), ct.bid(1)


def tiles_of(a, b, m, n, k, TILE_M, TILE_N, TILE_K, order):
    """A tile of each operand; b [K, N] in the order "C", [N, K] in the order "F"."""
    tile_a = ct.load(a, (m, k), (TILE_M, TILE_K), padding_mode=ZERO)
    return tile_a, ct.load(b, (k, n), (TILE_K, TILE_N), order=order, padding_mode=ZERO)


def product(a, b, residual, out, TILE_M, TILE_N, TILE_K, order):
    """What `matmul` does, and `matmul_add` with a residual."""
    m, n = place()
    if m < ct.cdiv(a.shape[0], TILE_M):
        if residual is None:
            acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
        else:
            acc = ct.load(residual, (m, n), (TILE_M, TILE_N), padding_mode=ZERO).astype(ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
            acc = ct.mma(*tiles_of(a, b, m, n, k, TILE_M, TILE_N, TILE_K, order), acc)
        ct.store(out, (m, n), acc.astype(out.dtype))


def share(a, b, parts, TILE_M, TILE_N, TILE_K, order):
    """What `matmul_splits` does."""
    m, n, split = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    tiles = ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))
    each = ct.cdiv(tiles, ct.num_blocks(2))
    for k in range(split * each, min((split + 1) * each, tiles)):
        acc = ct.mma(*tiles_of(a, b, m, n, k, TILE_M, TILE_N, TILE_K, order), acc)
    ct.store(parts, (split, m, n), acc.reshape((1, TILE_M, TILE_N)).astype(parts.dtype))


@ct.kernel
def matmul(a, b, out, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``a b`` for a [M, K], b [K, N], out [M, N].  Grid as `place` says."""
    product(a, b, None, out, TILE_M, TILE_N, TILE_K, "C")


@ct.kernel
def matmul_transposed(a, b, out, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``a bᵀ`` for a [M, K], b [N, K], as weights lie, out [M, N].  Grid as `place` says."""
    product(a, b, None, out, TILE_M, TILE_N, TILE_K, "F")


@ct.kernel
def matmul_add(a, b, residual, out, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``a bᵀ + residual`` for a [M, K], b [N, K], residual and out [M, N].  Grid as `place` says."""
    product(a, b, residual, out, TILE_M, TILE_N, TILE_K, "F")


@ct.kernel
def matmul_batched(a, b, out, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``a b`` of each batch: a [B, M, K], b [B, K, N], out [B, M, N].

    Grid (cdiv(M, TILE_M), cdiv(N, TILE_N), B).
    """
    m, n, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, TILE_M, TILE_K))):
        tile_a = ct.load(a, (batch, m, k), (1, TILE_M, TILE_K), padding_mode=ZERO).reshape((TILE_M, TILE_K))
        tile_b = ct.load(b, (batch, k, n), (1, TILE_K, TILE_N), padding_mode=ZERO).reshape((TILE_K, TILE_N))
        acc = ct.mma(tile_a, tile_b, acc)
    ct.store(out, (batch, m, n), acc.reshape((1, TILE_M, TILE_N)).astype(out.dtype))


@ct.kernel
def matmul_splits(a, b, parts, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``a b`` over one of P shares of K: a [M, K], b [K, N], parts f32[P, M, N]; `sum_splits` adds them up.

    Grid (cdiv(M, TILE_M), cdiv(N, TILE_N), P).
    """
    share(a, b, parts, TILE_M, TILE_N, TILE_K, "C")


@ct.kernel
def matmul_transposed_splits(a, b, parts, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt):
    """``a bᵀ`` over one of P shares of K: a [M, K], b [N, K], as weights lie, parts f32[P, M, N].

    Grid (cdiv(M, TILE_M), cdiv(N, TILE_N), P).
    """
    share(a, b, parts, TILE_M, TILE_N, TILE_K, "F")


@ct.kernel
def sum_splits(parts, out, TILE_M: ConstInt, TILE_N: ConstInt):
    """The sum over the first axis, always in its order: parts f32[P, M, N], out [M, N].

    Grid (cdiv(M, TILE_M), cdiv(N, TILE_N)).
    """
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for split in range(parts.shape[0]):
        part = ct.load(parts, (split, m, n), (1, TILE_M, TILE_N), padding_mode=ZERO)
        acc = acc + part.reshape((TILE_M, TILE_N)).astype(ct.float32)
    ct.store(out, (m, n), acc.astype(out.dtype))


@ct.kernel(num_worker_warps=8)
def matmul_scaled(
    a, b, a_scales, b_scales, out, TILE_M: ConstInt, TILE_N: ConstInt, TILE_K: ConstInt
):  # fmt: skip
    """``a bᵀ`` of 8-bit floats with scales: one for TILE_K elements of a row of a, one for TILE_N by TILE_K of b.

    a f8[M, K], b f8[N, K], a_scales f32[M, cdiv(K, TILE_K)], b_scales f32[cdiv(N, TILE_N), cdiv(K, TILE_K)],
    out [M, N].  What has no scale along K is left out.  Grid as `place` says.
    """
    m, n = place()
    if m < ct.cdiv(a.shape[0], TILE_M):
        acc = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
        tiles = ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))
        for k in range(min(tiles, min(a_scales.shape[1], b_scales.shape[1]))):
            operands = tiles_of(a, b, m, n, k, TILE_M, TILE_N, TILE_K, "F")
            products = ct.mma(*operands, ct.zeros((TILE_M, TILE_N), dtype=ct.float32))
            scale_a = ct.load(a_scales, (m, k), (TILE_M, 1), padding_mode=ZERO)
            scale_b = ct.load(b_scales, (n, k), (1, 1), padding_mode=ZERO)
            acc = acc + products * (scale_a * scale_b)
        ct.store(out, (m, n), acc.astype(out.dtype))
