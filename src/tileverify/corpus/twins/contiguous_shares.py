"""Deals tiles out in contiguous shares, as stream-K schedules do; shares end where the next begins, or one later."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_shares(x, out, TILE: ConstInt):
    tiles = ct.num_tiles(x, axis=0, shape=(TILE,))
    share = ct.cdiv(tiles, ct.num_blocks(0))
    first = ct.bid(0) * share
    for t in range(first, min(first + share, tiles)):
        ct.store(out, index=(t,), tile=ct.load(x, index=(t,), shape=(TILE,)))


@ct.kernel
def own_shares_inclusive(out, TILE: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE,))
    share = ct.cdiv(tiles, ct.num_blocks(0))
    first = ct.bid(0) * share
    for t in range(first, min(first + share + 1, tiles)):
        ct.store(out, index=(t,), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))


@ct.kernel
def copy_rounded_shares(x, out, TILE: ConstInt):
    tiles = ct.num_tiles(x, axis=0, shape=(TILE,))
    first = ct.bid(0) * tiles // ct.num_blocks(0)
    end = (ct.bid(0) + 1) * tiles // ct.num_blocks(0)
    for t in range(first, end):
        ct.store(out, index=(t,), tile=ct.load(x, index=(t,), shape=(TILE,)))
