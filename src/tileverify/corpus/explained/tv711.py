"""The grid is rounded down, so that nobody writes the tail of the output."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double_whole_tiles(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=2 * ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def double_all(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=2 * ct.load(x, index=(i,), shape=(TILE,)))
