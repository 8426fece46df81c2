"""Sums a list of arrays of one size."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def sum_all(xs, out, TILE: ConstInt):
    i = ct.bid(0)
    acc = ct.zeros((TILE,), dtype=ct.float32)
    for j in range(len(xs)):
        lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
        acc = acc + ct.gather(xs[j], (lanes,))
    ct.store(out, index=(i,), tile=acc)
