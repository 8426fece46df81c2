"""Counts tiles by adding before it divides, and copies from the last tile to the first."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def reverse_by_rounded_size(x, out, TILE: ConstInt):
    i = ct.bid(0)
    last = (x.shape[0] + TILE - 1) // TILE - 1
    ct.store(out, index=(last - i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
