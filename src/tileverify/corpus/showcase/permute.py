"""Moves the heads of an attention tensor behind the sequence: (batch, head, row, dim) -> (batch, row, head, dim)."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def permute_heads(src, dst, TILE_M: ConstInt, TILE_D: ConstInt):
    heads = src.shape[1]
    b = ct.bid(0) // heads
    h = ct.bid(0) % heads
    for m in range(ct.num_tiles(src, axis=2, shape=(1, 1, TILE_M, TILE_D))):
        tile = ct.load(src, index=(b, h, m, 0), shape=(1, 1, TILE_M, TILE_D))
        ct.store(dst, index=(b, m, h, 0), tile=ct.permute(tile, (0, 2, 1, 3)))
