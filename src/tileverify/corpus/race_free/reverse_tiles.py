"""Copies tiles in reverse order; the index falls as the block id rises."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def reverse_tiles(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(ct.num_blocks(0) - 1 - i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
