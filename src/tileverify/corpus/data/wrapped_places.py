"""A scatter whose places are multiples of 8192, computed in 16 bits."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_far_apart(places, out, TILE: ConstInt):
    i = ct.bid(0)
    place = ct.load(places, index=(i,), shape=(TILE,))
    ct.scatter(out, (place * 8192,), i * TILE + ct.arange(TILE, dtype=ct.int32))
