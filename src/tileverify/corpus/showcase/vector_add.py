"""The first kernel of every tutorial: one tile of the sum for each tile block."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def vector_add(x, y, out, TILE: ConstInt):
    i = ct.bid(0)
    tile_x = ct.load(x, index=(i,), shape=(TILE,))
    tile_y = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(out, index=(i,), tile=tile_x + tile_y)
