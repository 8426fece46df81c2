"""Copies tiles and, for every four of them, writes one mark: by one block of the four, or by all."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_and_mark(x, out, marks, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    if i % 4 == 0:
        ct.store(marks, index=(i // 4,), tile=i)


@ct.kernel
def copy_and_all_mark(x, out, marks, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    ct.store(marks, index=(i // 4,), tile=i)
