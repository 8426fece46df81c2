"""One array passed as two: the compiler gives each parameter tokens of its own, unless it is told."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def clamp(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.maximum(ct.load(x, index=(i,), shape=(TILE,)), 0.0))
