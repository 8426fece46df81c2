"""Gated activation: the two halves of every input row are combined."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def silu_and_mul(x, out, TILE_N: ConstInt):
    row = ct.bid(0)
    j = ct.bid(1)
    half = ct.num_tiles(out, axis=1, shape=(1, TILE_N))
    gate = ct.load(x, index=(row, j), shape=(1, TILE_N)).astype(ct.float32)
    up = ct.load(x, index=(row, j + half), shape=(1, TILE_N)).astype(ct.float32)
    ct.store(out, index=(row, j), tile=(gate / (1.0 + ct.exp(-gate)) * up).astype(out.dtype))
