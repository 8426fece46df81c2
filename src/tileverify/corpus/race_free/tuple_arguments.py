"""Adds arrays that arrive as one tuple."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_pair(pair, out, TILE: ConstInt):
    i = ct.bid(0)
    first = ct.load(pair[0], index=(i,), shape=(TILE,))
    second = ct.load(pair[1], index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=first + second)
