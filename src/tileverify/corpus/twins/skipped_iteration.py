"""A loop that counts one tile too far, and skips the last iteration or not."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_skipping(x, out, TILE: ConstInt):
    row = ct.bid(0)
    tiles = ct.num_tiles(x, axis=1, shape=(1, TILE))
    for j in range(tiles + 1):
        if j == tiles:
            continue
        ct.store(out, index=(row, j), tile=ct.load(x, index=(row, j), shape=(1, TILE)))


@ct.kernel
def copy_not_skipping(x, out, TILE: ConstInt):
    row = ct.bid(0)
    tiles = ct.num_tiles(x, axis=1, shape=(1, TILE))
    for j in range(tiles + 1):
        if j > tiles:
            continue
        ct.store(out, index=(row, j), tile=ct.load(x, index=(row, j), shape=(1, TILE)))
