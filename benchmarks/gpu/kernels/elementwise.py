"""Sums of arrays, element by element."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add(x, y, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, (i,), (TILE,)) + ct.load(y, (i,), (TILE,)))


@ct.kernel
def add_all(arrays, out, n: int, TILE: ConstInt):
    """The sum of a list of arrays."""
    i = ct.bid(0)
    total = ct.zeros((TILE,), dtype=ct.float32)
    for k in range(n):
        total += ct.load(arrays[k], (i,), (TILE,))
    ct.store(out, index=(i,), tile=total)


@ct.kernel
def put(places, x, y, TILE: ConstInt):
    """``y[places[i]] = x[i]``"""
    i = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(y, (ct.gather(places, (i,)),), ct.gather(x, (i,)))
