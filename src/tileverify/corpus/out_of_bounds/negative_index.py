"""Reads the previous tile without asking whether there is one."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_previous(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i - 1,), shape=(TILE,)))
