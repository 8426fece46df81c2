"""Negates the first tiles of a vector, as many as there are blocks."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def negate_first_tiles(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=-ct.load(x, index=(i,), shape=(TILE,)))
