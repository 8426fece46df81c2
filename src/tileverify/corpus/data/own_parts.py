"""Every block scatters into a part of its own, at places that an array gives relative to the part."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def scatter_in_parts(places, out, size, TILE: ConstInt):
    b = ct.bid(0)
    relative = ct.load(places, index=(b, 0), shape=(1, TILE)).reshape((TILE,))
    ct.scatter(out, (b * size + relative,), b)
