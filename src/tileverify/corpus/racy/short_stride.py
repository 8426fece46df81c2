"""Scatters tiles of 128 lanes with a block stride of 64."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_short_stride(out, TILE: ConstInt, STRIDE: ConstInt):
    lanes = ct.bid(0) * STRIDE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (lanes,), ct.bid(0))
