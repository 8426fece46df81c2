"""Doubles every array of a list without bounds checks: right where each is made of whole tiles."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double_arrays(xs, TILE: ConstInt):
    x = xs[ct.bid(0)]
    for i in range(ct.num_tiles(x, axis=0, shape=(TILE,))):
        tile = ct.load(x, index=(i,), shape=(TILE,), check_bounds=False)
        ct.store(x, index=(i,), tile=tile + tile, check_bounds=False)


@ct.kernel
def double_rows(xs, TILE: ConstInt):
    x = xs[ct.bid(0)]
    for i in range(x.shape[0]):
        tile = ct.load(x, index=(i, 0), shape=(1, TILE), check_bounds=False)
        ct.store(x, index=(i, 0), tile=tile + tile, check_bounds=False)
