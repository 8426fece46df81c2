"""Blocks add their part to what is in memory, where nobody has put anything."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_parts(x, total, TILE: ConstInt):
    i, part = ct.bid(0), ct.bid(1)
    at = i * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.atomic_add(total, (at,), ct.load(x, index=(part, i), shape=(1, TILE)).reshape((TILE,)))


@ct.kernel
def add_to_zero(x, total, TILE: ConstInt):
    i = ct.bid(0)
    at = i * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(total, (at,), 0.0)
    for part in range(x.shape[0]):
        ct.atomic_add(total, (at,), ct.load(x, index=(part, i), shape=(1, TILE)).reshape((TILE,)))
