"""Sums as many tiles of a row as an array says."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def sum_prefixes(x, lengths, out, TILE: ConstInt):
    row = ct.bid(0)
    acc = ct.zeros((1, TILE), dtype=ct.float32)
    for j in range(ct.load(lengths, index=(row,), shape=()).item()):
        acc = acc + ct.load(x, index=(row, j), shape=(1, TILE))
    ct.store(out, index=(row,), tile=ct.sum(acc, axis=1))
