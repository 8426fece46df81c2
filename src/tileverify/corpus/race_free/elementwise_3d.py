"""Adds a bias to every batch of a stack of matrices; the grid has three axes."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_bias(x, bias, out, TILE_M: ConstInt, TILE_N: ConstInt):
    n = ct.bid(0)
    m = ct.bid(1)
    b = ct.bid(2)
    tile = ct.load(x, index=(b, m, n), shape=(1, TILE_M, TILE_N))
    row = ct.load(bias, index=(n,), shape=(TILE_N,))
    ct.store(out, index=(b, m, n), tile=tile + row)
