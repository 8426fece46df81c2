"""Writes its own tile and clears the next one."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_and_clear_next(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.store(out, index=(i + 1,), tile=ct.zeros((TILE,), dtype=out.dtype))
