"""What a load gives beyond the array is open, unless it has a padding mode; here it takes part in a maximum."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def largest_of_row_and_more(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    ct.store(out, index=(i,), tile=ct.max(row, axis=1))


@ct.kernel
def largest_of_row(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(out, index=(i,), tile=ct.max(row, axis=1))
