"""Half of the blocks move data, the other half compute: on the input, or on what the first half has moved."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def move_or_double(x, moved, out, TILE: ConstInt):
    half = ct.num_blocks(0) // 2
    i = ct.bid(0)
    if i < half:
        ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    else:
        ct.store(out, index=(i - half,), tile=2.0 * ct.load(x, index=(i - half,), shape=(TILE,)))


@ct.kernel
def move_and_double_moved(x, moved, out, TILE: ConstInt):
    half = ct.num_blocks(0) // 2
    i = ct.bid(0)
    if i < half:
        ct.store(moved, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    else:
        ct.store(out, index=(i - half,), tile=2.0 * ct.load(moved, index=(i - half,), shape=(TILE,)))
