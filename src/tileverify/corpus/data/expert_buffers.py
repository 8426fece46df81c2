"""Tokens take their rows back from buffers of experts: a place among all tokens, less the expert's first place."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def combine_within_capacity(places, experts, offsets, buffers, out, CAPACITY: ConstInt, TILE: ConstInt):
    i = ct.bid(0)
    expert = ct.load(experts, index=(i,), shape=(1,)).item()
    first = ct.load(offsets, index=(expert,), shape=(1,)).item()
    row = ct.load(places, index=(i,), shape=(1,)).item() - first
    if row < CAPACITY:
        own = ct.load(buffers, index=(expert, row, 0), shape=(1, 1, TILE)).reshape((1, TILE))
        ct.store(out, index=(i, 0), tile=own)
