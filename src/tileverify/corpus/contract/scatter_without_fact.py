"""Scatters to places that an index array names, with no fact about that array."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def scatter_anywhere(x, target, out, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    places = ct.gather(target, (lanes,), padding_value=-1)
    ct.scatter(out, (places,), ct.gather(x, (lanes,)))
