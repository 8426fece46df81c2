"""Rows of experts, sorted, each expert's filled up to whole tiles: `slots` says where a row goes.

What fills a tile up points at a row behind the last one, and every block that has such lanes writes that row.
"""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def put_back(rows, slots, out, TILE: ConstInt, WIDTH: ConstInt):
    i = ct.bid(0)
    slot = ct.load(slots, index=(i,), shape=(TILE,))
    tile = ct.load(rows, index=(i, 0), shape=(TILE, WIDTH))
    ct.scatter(out, (slot.reshape((TILE, 1)), ct.arange(WIDTH, dtype=ct.int32).reshape((1, WIDTH))), tile)


@ct.kernel
def put_back_without_padding(rows, slots, out, count: int, TILE: ConstInt, WIDTH: ConstInt):
    i = ct.bid(0)
    slot = ct.load(slots, index=(i,), shape=(TILE,)).reshape((TILE, 1))
    tile = ct.load(rows, index=(i, 0), shape=(TILE, WIDTH))
    ct.scatter(out, (slot, ct.arange(WIDTH, dtype=ct.int32).reshape((1, WIDTH))), tile, mask=slot < count)
