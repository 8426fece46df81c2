"""Reverses the rows of a matrix with a scatter whose index falls as the lane rises."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def reverse_rows(x, out, TILE_N: ConstInt):
    row = ct.bid(0)
    columns = ct.bid(1) * TILE_N + ct.arange(TILE_N, dtype=ct.int32)
    tile = ct.gather(x, (row, columns))
    ct.scatter(out, (row, x.shape[1] - 1 - columns), tile)
