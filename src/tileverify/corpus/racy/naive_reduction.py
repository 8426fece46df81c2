"""Sums a vector with a plain read, add and write of one accumulator by every block."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def naive_total(x, out, TILE: ConstInt):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    before = ct.load(out, index=(0,), shape=(1,))
    ct.store(out, index=(0,), tile=before + ct.sum(tile))
