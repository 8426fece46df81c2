"""Grid-stride loops whose step is not the number of blocks."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def step_one_short(x, out, TILE: ConstInt):
    for t in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(TILE,)), ct.num_blocks(0) - 1):
        ct.store(out, index=(t,), tile=ct.load(x, index=(t,), shape=(TILE,)))


@ct.kernel
def constant_step(x, out, TILE: ConstInt, STEP: ConstInt):
    for t in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(TILE,)), STEP):
        ct.store(out, index=(t,), tile=ct.load(x, index=(t,), shape=(TILE,)))
