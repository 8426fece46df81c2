"""Writes down where every slot stands in a list, which is filled up with a number that is no slot."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def mark_slots(slots, out, TILE: ConstInt):
    i = ct.bid(0)
    places = ct.load(slots, index=(i,), shape=(TILE,))
    ct.scatter(out, (places,), i * TILE + ct.arange(TILE, dtype=ct.int32))
