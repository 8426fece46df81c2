"""Averages neighbours in place: a block reads elements that the next block writes."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def smooth_inplace(x, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    centre = ct.gather(x, (lanes,))
    right = ct.gather(x, (lanes + 1,))
    ct.scatter(x, (lanes,), (centre + right) / 2.0)


@ct.kernel
def smooth_into(x, out, TILE: ConstInt):
    i = ct.bid(0)
    lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
    right = ct.gather(x, (lanes + 1,))
    ct.store(out, index=(i,), tile=(ct.load(x, index=(i,), shape=(TILE,)) + right) / 2.0)
