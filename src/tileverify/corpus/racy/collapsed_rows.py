"""An ordinary elementwise kernel, launched with an output whose rows share memory."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_2d(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    m = ct.bid(0)
    n = ct.bid(1)
    ct.store(out, index=(m, n), tile=ct.load(x, index=(m, n), shape=(TILE_M, TILE_N)))
