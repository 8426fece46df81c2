"""Rotates tiles by an argument and undoes a shift by a division; both meet negative numbers on the way."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def rotate(x, out, distance, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=((i - distance) % ct.num_blocks(0),), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def rotate_short(x, out, distance, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=((i - distance) % (ct.num_blocks(0) - 1),), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def shift_and_back(x, out, TILE: ConstInt):
    i = ct.bid(0)
    n = ct.num_blocks(0)
    ct.store(out, index=((3 * i - n) // 3 + ct.cdiv(n, 3),), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def halve_around_zero(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=((i - 3) // 2 + 2,), tile=ct.load(x, index=(i,), shape=(TILE,)))
