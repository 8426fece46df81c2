"""Head permutation that permutes the tile but not its index."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def permute_tile_only(src, dst, TILE_M: ConstInt, TILE_D: ConstInt):
    m = ct.bid(0)
    h = ct.bid(1)
    b = ct.bid(2)
    tile = ct.load(src, index=(b, h, m, 0), shape=(1, 1, TILE_M, TILE_D))
    ct.store(dst, index=(b, h, m, 0), tile=ct.permute(tile, (0, 2, 1, 3)))
