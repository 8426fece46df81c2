"""The largest element of every row, where the tile is wider than the row."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def row_largest_unpadded(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    ct.store(out, index=(i,), tile=ct.max(row, axis=1))


@ct.kernel
def row_largest_padded(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(out, index=(i,), tile=ct.max(row, axis=1))


@ct.kernel
def row_largest_masked(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    inside = ct.arange(TILE, dtype=ct.int32)[None, :] < x.shape[1]
    ct.store(out, index=(i,), tile=ct.max(ct.where(inside, row, -3.0e38), axis=1))


@ct.kernel
def row_sum_times_mask(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    inside = ct.arange(TILE, dtype=ct.int32)[None, :] < x.shape[1]
    ct.store(out, index=(i,), tile=ct.sum(row * ct.astype(inside, ct.float32), axis=1))


@ct.kernel
def row_sum_of_positive(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    counts = (ct.arange(TILE, dtype=ct.int32)[None, :] < x.shape[1]) & (row > 0)
    ct.store(out, index=(i,), tile=ct.sum(ct.where(counts, row, 0.0), axis=1))
