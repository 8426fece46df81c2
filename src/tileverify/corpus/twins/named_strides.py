"""Batches of rows with strides of their own: each block copies its row, or forgets the batch."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_own_rows(x, out, TILE: ConstInt):
    b, m = ct.bid(0), ct.bid(1)
    ct.store(out, index=(b, m, 0), tile=ct.load(x, index=(b, m, 0), shape=(1, 1, TILE)))


@ct.kernel
def copy_rows_to_first_batch(x, out, TILE: ConstInt):
    b, m = ct.bid(0), ct.bid(1)
    ct.store(out, index=(0, m, 0), tile=ct.load(x, index=(b, m, 0), shape=(1, 1, TILE)))


@ct.kernel
def fill_rows_of_list(xs, TILE: ConstInt):
    e, r = ct.bid(0), ct.bid(1)
    x = xs[e]
    ct.store(x, index=(r, 0), tile=ct.full((1, TILE), e * 8 + r, dtype=ct.int32))


@ct.kernel
def scatter_rows_of_list(xs, TILE: ConstInt):
    e, r = ct.bid(0), ct.bid(1)
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(xs[e], (r, lanes), ct.full((TILE,), e * 8 + r, dtype=ct.int32))
