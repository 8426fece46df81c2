"""Matrix products: tiles of C in groups of GROUP rows, so that blocks that run together share their operands in L2."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


def place(tile, tiles_m, tiles_n, group):
    """Row and column of a tile: column by column within a group of rows."""
    in_group = group * tiles_n
    first = (tile // in_group) * group
    rows = min(tiles_m - first, group)
    return first + (tile % in_group) % rows, (tile % in_group) // rows


@ct.kernel
def matmul(a, b, c, TM: ConstInt, TN: ConstInt, TK: ConstInt, GROUP: ConstInt):
    """C = A @ B, a tile of C a block."""
    m, n = place(ct.bid(0), ct.cdiv(a.shape[0], TM), ct.cdiv(b.shape[1], TN), GROUP)
    total = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        tile_a = ct.load(a, index=(m, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        tile_b = ct.load(b, index=(k, n), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(tile_a, tile_b, total)
    ct.store(c, index=(m, n), tile=ct.astype(total, c.dtype))


@ct.kernel
def matmul_hinted(a, b, c, TM: ConstInt, TN: ConstInt, TK: ConstInt, GROUP: ConstInt, LATENCY: ConstInt):
    """The same; LATENCY tells the compiler how far ahead to load (1 to 10)."""
    m, n = place(ct.bid(0), ct.cdiv(a.shape[0], TM), ct.cdiv(b.shape[1], TN), GROUP)
    total = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        tile_a = ct.load(a, (m, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO, latency=LATENCY)
        tile_b = ct.load(b, (k, n), (TK, TN), padding_mode=ct.PaddingMode.ZERO, latency=LATENCY)
        total = ct.mma(tile_a, tile_b, total)
    ct.store(c, index=(m, n), tile=ct.astype(total, c.dtype))


@ct.kernel
def matmul_persistent(a, b, c, TM: ConstInt, TN: ConstInt, TK: ConstInt, GROUP: ConstInt):
    """The same; a block computes every tile that is a multiple of the grid away from its first."""
    tiles_m, tiles_n = ct.cdiv(a.shape[0], TM), ct.cdiv(b.shape[1], TN)
    for tile in range(ct.bid(0), tiles_m * tiles_n, ct.num_blocks(0)):
        m, n = place(tile, tiles_m, tiles_n, GROUP)
        total = ct.full((TM, TN), 0, dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
            tile_a = ct.load(a, index=(m, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
            tile_b = ct.load(b, index=(k, n), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
            total = ct.mma(tile_a, tile_b, total)
        ct.store(c, index=(m, n), tile=ct.astype(total, c.dtype))


@ct.kernel
def matmul_transposed(a, b, c, scale: float, TM: ConstInt, TN: ConstInt, TK: ConstInt, GROUP: ConstInt):
    """C = scale * A @ Bᵀ, both operands contiguous along K, as tensor cores take 8-bit floats."""
    m, n = place(ct.bid(0), ct.cdiv(a.shape[0], TM), ct.cdiv(b.shape[0], TN), GROUP)
    total = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        tile_a = ct.load(a, index=(m, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        tile_b = ct.load(b, index=(k, n), shape=(TK, TN), order="F", padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(tile_a, tile_b, total, use_fast_acc=True)
    ct.store(c, index=(m, n), tile=ct.astype(total * scale, c.dtype))


@ct.kernel
def matmul_transposed_persistent(a, b, c, scale: float, TM: ConstInt, TN: ConstInt, TK: ConstInt, GROUP: ConstInt):
    """The same; a block computes every tile that is a multiple of the grid away from its first."""
    tiles_m, tiles_n = ct.cdiv(a.shape[0], TM), ct.cdiv(b.shape[0], TN)
    for tile in range(ct.bid(0), tiles_m * tiles_n, ct.num_blocks(0)):
        m, n = place(tile, tiles_m, tiles_n, GROUP)
        total = ct.full((TM, TN), 0, dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
            tile_a = ct.load(a, index=(m, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
            tile_b = ct.load(b, index=(k, n), shape=(TK, TN), order="F", padding_mode=ct.PaddingMode.ZERO)
            total = ct.mma(tile_a, tile_b, total, use_fast_acc=True)
        ct.store(c, index=(m, n), tile=ct.astype(total * scale, c.dtype))
