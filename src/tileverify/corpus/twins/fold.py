"""Adds two tiles in place: pairs of tiles, or a tile and its neighbour."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fold_pairs(x, TILE: ConstInt):
    i = ct.bid(0)
    left = ct.load(x, index=(2 * i,), shape=(TILE,))
    right = ct.load(x, index=(2 * i + 1,), shape=(TILE,))
    ct.store(x, index=(2 * i,), tile=left + right)


@ct.kernel
def fold_neighbours(x, TILE: ConstInt):
    i = ct.bid(0)
    left = ct.load(x, index=(i,), shape=(TILE,))
    right = ct.load(x, index=(i + 1,), shape=(TILE,))
    ct.store(x, index=(i,), tile=left + right)
