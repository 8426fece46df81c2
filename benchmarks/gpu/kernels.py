"""The kernels that are measured on a GPU, with the launches that they are proved for."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add(x, y, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, (i,), (TILE,)) + ct.load(y, (i,), (TILE,)))


@ct.kernel
def add_all(arrays, out, n: int, TILE: ConstInt):
    """The sum of a list of arrays."""
    i = ct.bid(0)
    total = ct.zeros((TILE,), dtype=ct.float32)
    for k in range(n):
        total += ct.load(arrays[k], (i,), (TILE,))
    ct.store(out, index=(i,), tile=total)


@ct.kernel
def matmul(a, b, c, TM: ConstInt, TN: ConstInt, TK: ConstInt, GROUP: ConstInt):
    """C = A @ B, tiles of C in groups of GROUP rows so that blocks that run together share their operands in L2."""
    tiles_m, tiles_n = ct.cdiv(a.shape[0], TM), ct.cdiv(b.shape[1], TN)
    block = ct.bid(0)
    in_group = GROUP * tiles_n
    first = (block // in_group) * GROUP
    rows = min(tiles_m - first, GROUP)
    m = first + (block % in_group) % rows
    n = (block % in_group) // rows
    total = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        tile_a = ct.load(a, index=(m, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        tile_b = ct.load(b, index=(k, n), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(tile_a, tile_b, total)
    ct.store(c, index=(m, n), tile=ct.astype(total, c.dtype))
