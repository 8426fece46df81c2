"""Reverses tiles; the launch says by two facts that source and target are one array."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def reverse_between_names(x, y, z, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(z, index=(ct.num_blocks(0) - 1 - i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
