"""Takes the remainder of a product that is always a multiple of 1000, until it wraps."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def load_at_remainder(x, out, TILE: ConstInt):
    i = ct.bid(0)
    place = (i * 2_000_000_000) % 1000
    ct.store(out, index=(i,), tile=ct.load(x, index=(place,), shape=(TILE,)))
