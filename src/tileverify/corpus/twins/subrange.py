"""Fills a range of tiles in grid strides; it starts at one place for all blocks, or at the block's own number."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_range(out, start, length, TILE: ConstInt):
    for t in range(start + ct.bid(0), start + length, ct.num_blocks(0)):
        ct.store(out, index=(t,), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))


@ct.kernel
def fill_range_from_own_start(out, length, TILE: ConstInt):
    start = ct.bid(0)
    for t in range(start + ct.bid(0), start + length, ct.num_blocks(0)):
        ct.store(out, index=(t,), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))
