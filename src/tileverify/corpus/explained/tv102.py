"""A block reads the first element of its right neighbour, who changes it; a second array keeps the two apart."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_next_in_place(x, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(x, (lanes,), ct.gather(x, (lanes,)) + ct.gather(x, (lanes + 1,)))


@ct.kernel
def add_next(x, out, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (lanes,), ct.gather(x, (lanes,)) + ct.gather(x, (lanes + 1,)))
