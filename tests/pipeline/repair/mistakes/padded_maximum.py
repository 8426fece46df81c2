"""The largest value of each row."""

import cuda.tile as ct


@ct.kernel
def row_max(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    ct.store(out, index=(i,), tile=ct.max(row, axis=1))
