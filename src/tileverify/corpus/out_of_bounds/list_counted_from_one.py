"""Sums a list of arrays whose positions are counted from 1: the last one does not exist."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def sum_counted_from_one(xs, out, TILE: ConstInt):
    i = ct.bid(0)
    acc = ct.zeros((TILE,), dtype=ct.float32)
    for j in range(len(xs)):
        lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
        acc = acc + ct.gather(xs[j + 1], (lanes,))
    ct.store(out, index=(i,), tile=acc)
