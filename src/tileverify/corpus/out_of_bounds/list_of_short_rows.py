"""Adds tile i of every array of a list, although the arrays have fewer tiles than the output."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def sum_short_rows(xs, out, TILE: ConstInt):
    i = ct.bid(0)
    acc = ct.zeros((TILE,), dtype=ct.float32)
    for j in range(len(xs)):
        acc = acc + ct.load(xs[j], index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(i,), tile=acc)


@ct.kernel
def sum_unchecked(xs, out, TILE: ConstInt):
    i = ct.bid(0)
    acc = ct.zeros((TILE,), dtype=ct.float32)
    for j in range(len(xs)):
        lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
        acc = acc + ct.gather(xs[j], (lanes,), check_bounds=False)
    ct.store(out, index=(i,), tile=acc)
