"""Stores of a loop through a slice that moves against the loop: every iteration writes one and the same tile.

By the lines of the kernel the last iteration's value stays.  cuda.tile 1.7.0 takes the tile index `j` for proof that
iterations write different tiles, looks at the array alone and not at the slice, and leaves the stores without an order.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def keep_last_tile(x, out, TILE: ConstInt):
    tiles = ct.num_tiles(x, axis=0, shape=(TILE,))
    for j in range(tiles):
        window = out.slice(axis=0, start=(tiles - 1 - j) * TILE, stop=tiles * TILE)
        ct.store(window, index=(j,), tile=ct.load(x, index=(j,), shape=(TILE,)))


@ct.kernel
def keep_last_tile_by_array(x, out, TILE: ConstInt):
    tiles = ct.num_tiles(x, axis=0, shape=(TILE,))
    for j in range(tiles):
        ct.store(out, index=(tiles - 1,), tile=ct.load(x, index=(j,), shape=(TILE,)))
