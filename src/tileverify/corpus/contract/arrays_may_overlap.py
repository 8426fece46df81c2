"""Copies between arguments that may overlap in any way."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
