"""Packs three matrices side by side into one: every row in three parts of any width."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def pack(q, k, v, packed, TILE: ConstInt):
    row = ct.bid(0)
    width = q.shape[1]
    lanes = ct.arange(TILE, dtype=ct.int32)
    own = lanes < width
    ct.scatter(packed, (row, lanes), ct.gather(q, (row, lanes)), mask=own)
    ct.scatter(packed, (row, width + lanes), ct.gather(k, (row, lanes)), mask=own)
    ct.scatter(packed, (row, 2 * width + lanes), ct.gather(v, (row, lanes)), mask=own)


@ct.kernel
def pack_by_parts(q, k, v, packed, TILE: ConstInt):
    row = ct.bid(0)
    part = ct.bid(1)
    width = q.shape[1]
    lanes = ct.arange(TILE, dtype=ct.int32)
    if part == 0:
        tile = ct.gather(q, (row, lanes))
    elif part == 1:
        tile = ct.gather(k, (row, lanes))
    else:
        tile = ct.gather(v, (row, lanes))
    ct.scatter(packed, (row, part * width + lanes), tile, mask=lanes < width)


@ct.kernel
def pack_by_parts_unmasked(q, k, v, packed, TILE: ConstInt):
    row = ct.bid(0)
    part = ct.bid(1)
    width = q.shape[1]
    lanes = ct.arange(TILE, dtype=ct.int32)
    if part == 0:
        tile = ct.gather(q, (row, lanes))
    elif part == 1:
        tile = ct.gather(k, (row, lanes))
    else:
        tile = ct.gather(v, (row, lanes))
    ct.scatter(packed, (row, part * width + lanes), tile)
