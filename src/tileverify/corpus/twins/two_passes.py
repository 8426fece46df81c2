"""Writes tiles in one loop and changes them in a second one, dealt out as in the first or otherwise."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_then_double(out, TILE: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE,))
    for t in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(out, index=(t,), tile=ct.full((TILE,), t, dtype=out.dtype))
    for t in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(out, index=(t,), tile=2 * ct.load(out, index=(t,), shape=(TILE,)))


@ct.kernel
def fill_then_double_from_end(out, TILE: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE,))
    for t in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(out, index=(t,), tile=ct.full((TILE,), t, dtype=out.dtype))
    for k in range(ct.bid(0), tiles, ct.num_blocks(0)):
        t = tiles - 1 - k
        ct.store(out, index=(t,), tile=2 * ct.load(out, index=(t,), shape=(TILE,)))


@ct.kernel
def fill_then_clear_rest(out, kept, TILE: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE,))
    for t in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(out, index=(t,), tile=ct.full((TILE,), t, dtype=out.dtype))
    for t in range(kept + ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(out, index=(t,), tile=ct.zeros((TILE,), dtype=out.dtype))
