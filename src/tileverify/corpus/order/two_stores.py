"""Writes one tile twice; the second value must win."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def store_twice(x, out, TILE: ConstInt):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=ct.zeros((TILE,), dtype=out.dtype))
    ct.store(out, index=(i,), tile=tile)
