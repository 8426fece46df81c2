"""Writes groups of four elements at four times a number from an index array, or one element too many."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_groups(numbers, out, WIDTH: ConstInt, TILE: ConstInt):
    i = ct.bid(0)
    lanes = ct.arange(TILE, dtype=ct.int32)
    first = 4 * ct.load(numbers, index=(i,), shape=()).item()
    ct.scatter(out, (first + lanes,), i, mask=lanes < WIDTH)


@ct.kernel
def write_tile_of_groups(numbers, out, TILE: ConstInt):
    i = ct.bid(0)
    first = 4 * ct.load(numbers, index=(i,), shape=(TILE,))
    ct.scatter(out, (first[:, None] + ct.arange(4, dtype=ct.int32)[None, :],), i)
