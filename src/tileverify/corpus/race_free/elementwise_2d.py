"""Scales the columns of a matrix whose rows may be padded."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def scale_columns(x, scale, out, TILE_M: ConstInt, TILE_N: ConstInt):
    m = ct.bid(0)
    n = ct.bid(1)
    tile = ct.load(x, index=(m, n), shape=(TILE_M, TILE_N))
    factor = ct.load(scale, index=(n,), shape=(TILE_N,))
    ct.store(out, index=(m, n), tile=tile * factor)
