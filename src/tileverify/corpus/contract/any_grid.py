"""Right for the usual grid, launched without saying which."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_one(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) + 1.0)
