"""Doubles a vector; each output tile is named twice."""

import cuda.tile as ct


@ct.kernel
def double(x, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(TILE,))
    ct.store(out, index=(i // 2,), tile=tile * 2.0)
