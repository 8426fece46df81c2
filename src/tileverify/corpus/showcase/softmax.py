"""Softmax over rows that fit one tile: one row for each tile block."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def softmax(x, out, TILE_N: ConstInt):
    row = ct.bid(0)
    tile = ct.load(x, index=(row, 0), shape=(1, TILE_N), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    shifted = ct.exp(tile - ct.max(tile, axis=1, keepdims=True))
    result = shifted / ct.sum(shifted, axis=1, keepdims=True)
    ct.store(out, index=(row, 0), tile=result.astype(out.dtype))
