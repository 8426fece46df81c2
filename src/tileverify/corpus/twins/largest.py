"""Keeps the largest element of a vector: by an atomic maximum, or by comparing and then storing."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def largest(x, out, TILE: ConstInt):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    ct.atomic_max(out, (0,), ct.max(tile))


@ct.kernel
def largest_if_larger(x, out, TILE: ConstInt):
    found = ct.max(ct.load(x, index=(ct.bid(0),), shape=(TILE,)))
    before = ct.load(out, index=(0,), shape=()).item()
    ct.store(out, index=(0,), tile=ct.maximum(before, found))
