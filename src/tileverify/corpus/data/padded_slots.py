"""Writes a one at every slot of a list that is filled up with a number that is no slot."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def mark_slots(slots, out, TILE: ConstInt):
    places = ct.load(slots, index=(ct.bid(0),), shape=(TILE,))
    ct.scatter(out, (places,), ct.full((TILE,), 1, dtype=ct.int32))
