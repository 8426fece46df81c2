"""Copies a row chunk by chunk in a while loop."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_in_chunks(x, out, TILE_N: ConstInt):
    row = ct.bid(0)
    j = 0
    while j < ct.num_tiles(x, axis=1, shape=(1, TILE_N)):
        ct.store(out, index=(row, j), tile=ct.load(x, index=(row, j), shape=(1, TILE_N)))
        j += 1
