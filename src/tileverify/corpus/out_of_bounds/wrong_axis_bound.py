"""Sums the tiles of a row, as many as there are along the other axis."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def sum_rows_by_wrong_axis(x, out, TILE: ConstInt):
    i = ct.bid(0)
    acc = ct.zeros((TILE, TILE), dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=0, shape=(TILE, TILE))):
        acc = acc + ct.load(x, index=(i, j), shape=(TILE, TILE), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(i,), tile=ct.sum(acc, axis=1))
