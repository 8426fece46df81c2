"""Parts of a sum, written one behind the other: each part begins at a whole tile, so each needs room for whole tiles.

Where there is room for the rows alone, the last tiles lie outside of the array, and what belongs there is lost.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_parts(x, parts, ROWS: ConstInt, WIDTH: ConstInt):
    i, part = ct.bid(0), ct.bid(1)
    tiles = ct.num_tiles(x, axis=0, shape=(ROWS, WIDTH))
    tile = ct.load(x, index=(i, part), shape=(ROWS, WIDTH), padding_mode=ct.PaddingMode.ZERO)
    ct.store(parts, index=(i + part * tiles, 0), tile=tile)
