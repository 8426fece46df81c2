"""Sums a vector: every block adds its part to one accumulator."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def total(x, out, TILE: ConstInt):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.atomic_add(out, (0,), ct.sum(tile))
