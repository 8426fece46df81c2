"""Looks elements up by unsigned bytes, without a check of bounds."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def look_up_bytes(x, positions, out, TILE: ConstInt):
    i = ct.bid(0)
    places = ct.load(positions, index=(i,), shape=(TILE,)).astype(ct.int32)
    ct.store(out, index=(i,), tile=ct.gather(x, (places,), check_bounds=False))
