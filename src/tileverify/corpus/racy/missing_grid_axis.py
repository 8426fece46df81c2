"""Ignores the second grid axis: every tile is written once for each of its blocks."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=2.0 * ct.load(x, index=(i,), shape=(TILE,)))
