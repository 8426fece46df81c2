"""Appends the keys of one new token to the cache, at one position for all sequences or at one for each."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def append(new, cache, position, TILE_D: ConstInt):
    b = ct.bid(0)
    h = ct.bid(1)
    tile = ct.load(new, index=(b, h, 0), shape=(1, 1, TILE_D))
    ct.store(cache, index=(b, h, position, 0), tile=tile.reshape((1, 1, 1, TILE_D)))


@ct.kernel
def append_at(new, cache, positions, TILE_D: ConstInt):
    b = ct.bid(0)
    h = ct.bid(1)
    position = ct.load(positions, index=(b,), shape=())
    tile = ct.load(new, index=(b, h, 0), shape=(1, 1, TILE_D))
    ct.store(cache, index=(b, h, position, 0), tile=tile.reshape((1, 1, 1, TILE_D)))
