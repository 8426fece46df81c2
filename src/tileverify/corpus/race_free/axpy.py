"""y += alpha * x, in place."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def axpy(alpha, x, y, TILE: ConstInt):
    i = ct.bid(0)
    tile_x = ct.load(x, index=(i,), shape=(TILE,))
    tile_y = ct.load(y, index=(i,), shape=(TILE,))
    ct.store(y, index=(i,), tile=alpha * tile_x + tile_y)
