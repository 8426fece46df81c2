"""A block stores its tile as two halves, by tile indices of the half size.

Where the last tile is at most half full, its second half begins behind the last tile of the array.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double_in_halves(x, out, TILE: ConstInt):
    i = ct.bid(0)
    tile = 2.0 * ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(2 * i,), tile=ct.extract(tile, index=(0,), shape=(TILE // 2,)))
    ct.store(out, index=(2 * i + 1,), tile=ct.extract(tile, index=(1,), shape=(TILE // 2,)))


@ct.kernel
def double_in_halves_that_are_there(x, out, TILE: ConstInt):
    i = ct.bid(0)
    tile = 2.0 * ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(2 * i,), tile=ct.extract(tile, index=(0,), shape=(TILE // 2,)))
    if 2 * i + 1 < ct.num_tiles(out, axis=0, shape=(TILE // 2,)):
        ct.store(out, index=(2 * i + 1,), tile=ct.extract(tile, index=(1,), shape=(TILE // 2,)))
