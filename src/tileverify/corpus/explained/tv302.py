"""A gather without bounds checks reads behind the end of its array where the last tile is partial."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_all_lanes(x, out, TILE: ConstInt):
    i = ct.bid(0)
    lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.store(out, index=(i,), tile=ct.gather(x, (lanes,), check_bounds=False))


@ct.kernel
def copy_lanes_inside(x, out, TILE: ConstInt):
    i = ct.bid(0)
    lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.store(out, index=(i,), tile=ct.gather(x, (lanes,)))
