"""Copies arrays of more than 2**32 elements: sizes and strides have 64 bits."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def large_copy(x: ct.IndexedWithInt64, out: ct.IndexedWithInt64, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
