"""Adds gradients to the rows that token ids name: atomically, or by reading, adding and writing."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_gradient(ids, gradient, table, TILE: ConstInt):
    t = ct.bid(0)
    row = ct.load(ids, index=(t,), shape=()).item()
    columns = ct.arange(TILE, dtype=ct.int32)
    ct.atomic_add(table, (row, columns), ct.gather(gradient, (t, columns)))


@ct.kernel
def add_gradient_plainly(ids, gradient, table, TILE: ConstInt):
    t = ct.bid(0)
    row = ct.load(ids, index=(t,), shape=()).item()
    columns = ct.arange(TILE, dtype=ct.int32)
    before = ct.gather(table, (row, columns))
    ct.scatter(table, (row, columns), before + ct.gather(gradient, (t, columns)))
