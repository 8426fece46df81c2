"""Writes down which block owns an element; the last tile is partial: clipped, or moved back so that it fits."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def own_clipped(out, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (lanes,), ct.bid(0))


@ct.kernel
def own_moved_back(out, TILE: ConstInt):
    start = min(ct.bid(0) * TILE, out.shape[0] - TILE)
    lanes = start + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (lanes,), ct.bid(0))


@ct.kernel
def own_last_repeated(out, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (ct.minimum(lanes, out.shape[0] - 1),), lanes // 2)
