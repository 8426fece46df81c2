"""A while loop that takes every block to its share of the tiles, and one that counts in eight bits."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double_by_stride(x, tiles, TILE: ConstInt):
    i = ct.bid(0)
    while i < tiles:
        ct.store(x, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) * 2)
        i += ct.num_blocks(0)


@ct.kernel
def double_one_by_one(x, count):
    i = ct.bid(0)
    while i < count:
        ct.store(x, index=(i,), tile=ct.load(x, index=(i,), shape=(1,)) * 2)
        i += ct.num_blocks(0)


@ct.kernel
def double_one_too_soon(x, count):
    i = ct.bid(0)
    while i < count:
        ct.store(x, index=(i,), tile=ct.load(x, index=(i,), shape=(1,)) * 2)
        i += ct.num_blocks(0) - 1


@ct.kernel
def fill_by_bytes(out, tiles, step, TILE: ConstInt):
    # The counter is a signed byte, and so is the limit; the rounds only end the loop where the counter has wrapped.
    i = ct.astype(ct.bid(0), ct.int8)
    last = ct.astype(tiles, ct.int8)
    rounds = 0
    while i < last and rounds < 20:
        ct.store(out, index=(ct.astype(i, ct.int32),), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))
        i = ct.astype(ct.astype(i, ct.int32) + step, ct.int8)
        rounds += 1
