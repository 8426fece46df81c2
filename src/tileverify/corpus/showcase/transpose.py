"""Transposes a matrix tile by tile."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def transpose(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    m = ct.bid(0)
    n = ct.bid(1)
    tile = ct.load(x, index=(m, n), shape=(TILE_M, TILE_N))
    ct.store(out, index=(n, m), tile=ct.transpose(tile))
