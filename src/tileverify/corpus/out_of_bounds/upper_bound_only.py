"""Reads the previous tile if its number is below the number of tiles."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_previous_if_below(x, out, TILE: ConstInt):
    i = ct.bid(0)
    if i - 1 < ct.num_tiles(x, axis=0, shape=(TILE,)):
        ct.store(out, index=(i,), tile=ct.load(x, index=(i - 1,), shape=(TILE,)))


@ct.kernel
def copy_previous_if_any(x, out, TILE: ConstInt):
    i = ct.bid(0)
    if i >= 1:
        ct.store(out, index=(i,), tile=ct.load(x, index=(i - 1,), shape=(TILE,)))
