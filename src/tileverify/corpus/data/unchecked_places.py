"""Gathers from and scatters to places that an index array names, without a check of bounds."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def gather_unchecked(x, places, out, TILE: ConstInt):
    i = ct.bid(0)
    at = ct.load(places, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=ct.gather(x, (at,), check_bounds=False))


@ct.kernel
def scatter_unchecked(x, places, out, TILE: ConstInt):
    i = ct.bid(0)
    at = ct.load(places, index=(i,), shape=(TILE,))
    ct.scatter(out, (at,), ct.load(x, index=(i,), shape=(TILE,)), check_bounds=False)
