"""Exchanges the tiles of every pair; the other tile's number is right for both of a pair, or only for one."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def swap(x, out, TILE: ConstInt):
    i = ct.bid(0)
    other = i + 1
    if i % 2 == 1:
        other = i - 1
    ct.store(out, index=(other,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def swap_only_odd(x, out, TILE: ConstInt):
    i = ct.bid(0)
    other = i
    if i % 2 == 1:
        other = i + 1
    ct.store(out, index=(other,), tile=ct.load(x, index=(i,), shape=(TILE,)))
