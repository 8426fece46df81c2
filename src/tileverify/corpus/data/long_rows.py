"""Rows of 8192 elements, placed where an array of starts says: each at its own start, or two at one."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def place_rows(starts, out, TILE: ConstInt):
    b = ct.bid(0)
    start = ct.load(starts, index=(b,), shape=()).item()
    ct.scatter(out, (start + ct.arange(TILE, dtype=ct.int32),), b)


@ct.kernel
def place_two_rows_at_one_start(starts, out, TILE: ConstInt):
    b = ct.bid(0)
    start = ct.load(starts, index=(b // 2,), shape=()).item()
    ct.scatter(out, (start + ct.arange(TILE, dtype=ct.int32),), b)
