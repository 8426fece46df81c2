"""Adds a bias if a flag says so; without the flag the bias may be empty."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_optional_bias(x, bias, out, use_bias, TILE: ConstInt):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(TILE,))
    if use_bias != 0:
        tile = tile + ct.load(bias, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=tile)
