"""Every block looks at all elements and writes those that an array assigns to it, or also those of higher blocks."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_owned(owner, out, TILE: ConstInt):
    for t in range(ct.num_tiles(owner, axis=0, shape=(TILE,))):
        lanes = t * TILE + ct.arange(TILE, dtype=ct.int32)
        mine = ct.gather(owner, (lanes,), padding_value=-1) == ct.bid(0)
        ct.scatter(out, (lanes,), ct.bid(0), mask=mine)


@ct.kernel
def write_owned_and_above(owner, out, TILE: ConstInt):
    for t in range(ct.num_tiles(owner, axis=0, shape=(TILE,))):
        lanes = t * TILE + ct.arange(TILE, dtype=ct.int32)
        mine = ct.gather(owner, (lanes,), padding_value=-1) >= ct.bid(0)
        ct.scatter(out, (lanes,), ct.bid(0), mask=mine)
