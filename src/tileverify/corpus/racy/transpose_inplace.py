"""Transposes a square matrix in place, one tile for each block."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def transpose_inplace(x, TILE: ConstInt):
    m = ct.bid(0)
    n = ct.bid(1)
    tile = ct.load(x, index=(m, n), shape=(TILE, TILE))
    ct.store(x, index=(n, m), tile=ct.transpose(tile))
