"""Block offsets in 32 bits: beyond 2**32 elements they start again at the first one."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill(out, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (lanes,), ct.bid(0))


@ct.kernel
def fill_large(out: ct.IndexedWithInt64, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (lanes,), ct.bid(0))
