"""Writes its own tile, and also in front of the array, which a mask of bounds keeps from happening."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_and_step_before(out: ct.IndexedWithInt64, TILE: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.store(out, index=(ct.bid(0),), tile=ct.full((TILE,), 1, dtype=out.dtype))
    ct.scatter(out, (-1 - lanes,), 2)


@ct.kernel
def fill_and_step_before_unsigned(out: ct.IndexedWithInt64, TILE: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.store(out, index=(ct.bid(0),), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))
    before = ct.astype(ct.astype(-1 - lanes, ct.uint32), ct.int64)
    ct.scatter(out, (before,), ct.bid(0))
