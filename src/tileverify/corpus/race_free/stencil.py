"""Three-point average from one array into another."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def smooth(x, out, TILE: ConstInt):
    i = ct.bid(0)
    lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
    left = ct.gather(x, (lanes - 1,))
    centre = ct.load(x, index=(i,), shape=(TILE,))
    right = ct.gather(x, (lanes + 1,))
    ct.store(out, index=(i,), tile=(left + centre + right) / 3.0)
