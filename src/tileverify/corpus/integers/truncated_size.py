"""Reverses tiles of an array with 64-bit sizes, whose size is read as 64 or as 32 bits."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def reverse_by_full_size(x: ct.IndexedWithInt64, out: ct.IndexedWithInt64, TILE: ConstInt):
    i = ct.bid(0)
    last = ct.cdiv(x.shape[0], TILE) - 1
    ct.store(out, index=(last - i,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def reverse_by_truncated_size(x: ct.IndexedWithInt64, out: ct.IndexedWithInt64, TILE: ConstInt):
    i = ct.bid(0)
    last = ct.cdiv(ct.astype(x.shape[0], ct.int32), TILE) - 1
    ct.store(out, index=(last - i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
