"""Blocks shift their tile by half a tile; the size is called what the tool calls a lane."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_half_apart(x, out, TILE: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (ct.bid(0) * TILE // 2 + lanes,), ct.gather(x, (ct.bid(0) * TILE + lanes,)))
