"""Uses a row of global memory as scratch: written, read back in another layout, and written again."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def scratch_row(x, scratch, out, TILE: ConstInt):
    i = ct.bid(0)
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.store(scratch, index=(i, 0), tile=ct.load(x, index=(i, 0), shape=(1, TILE)))
    ct.scatter(out, (i, lanes), ct.gather(scratch, (i, TILE - 1 - lanes)))
