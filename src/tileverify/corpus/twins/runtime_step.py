"""A grid-stride loop whose step is an argument: the number of blocks, or less."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def own_with_step(out, step, TILE: ConstInt):
    for t in range(ct.bid(0), ct.num_tiles(out, axis=0, shape=(TILE,)), step):
        ct.store(out, index=(t,), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))
