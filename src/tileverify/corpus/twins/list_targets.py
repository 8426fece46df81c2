"""Writes through a list of arrays: every block its own tile of the first one, or all the same tile."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_first_of_list(xs, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(xs[0], index=(i,), tile=ct.full((TILE,), i, dtype=ct.int32))


@ct.kernel
def fill_one_tile_of_list(xs, TILE: ConstInt):
    ct.store(xs[0], index=(0,), tile=ct.full((TILE,), ct.bid(0), dtype=ct.int32))
