"""One block more than there are tiles: it loads and stores a tile that lies outside, unless it returns early."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double_tiles(x, out, TILE: ConstInt):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=tile + tile)


@ct.kernel
def double_tiles_there_are(x, out, TILE: ConstInt):
    i = ct.bid(0)
    if i >= ct.num_tiles(x, axis=0, shape=(TILE,)):
        return
    tile = ct.load(x, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=tile + tile)
