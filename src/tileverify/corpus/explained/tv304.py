"""A row's number times its length leaves 32 bits in an array of 2**31 elements, which cards can hold."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double_by_place(x, out, length, TILE: ConstInt):
    place = ct.bid(0) * length + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (place,), ct.gather(x, (place,)) * 2)


@ct.kernel
def double_by_wide_place(x, out, length, TILE: ConstInt):
    place = ct.astype(ct.bid(0), ct.int64) * length + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (place,), ct.gather(x, (place,)) * 2)
