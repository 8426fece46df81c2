"""Sequences of different lengths, packed: each block fills the rows of one, from a start that another array gives."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_sequences(starts, lengths, out, TILE: ConstInt):
    b = ct.bid(0)
    start = ct.load(starts, index=(b,), shape=()).item()
    length = ct.load(lengths, index=(b,), shape=()).item()
    for row in range(start, start + length):
        ct.store(out, index=(row, 0), tile=ct.full((1, TILE), b, dtype=out.dtype))


@ct.kernel
def fill_sequences_by_slices(starts, lengths, out, TILE: ConstInt):
    b, i = ct.bid(0), ct.bid(1)
    start = ct.load(starts, index=(b,), shape=()).item()
    length = ct.load(lengths, index=(b,), shape=()).item()
    if i * TILE < length:
        own = out.slice(axis=0, start=start, stop=start + length)
        ct.store(own, index=(i, 0), tile=ct.full((TILE, 16), b, dtype=out.dtype))
