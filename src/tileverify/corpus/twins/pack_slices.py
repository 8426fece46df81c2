"""Packs two matrices side by side through slices of the target, which touch or overlap."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def pack_two(q, k, packed, TILE_M: ConstInt, TILE_N: ConstInt):
    m = ct.bid(0)
    width = q.shape[1]
    left = packed.slice(axis=1, start=0, stop=width)
    right = packed.slice(axis=1, start=width, stop=2 * width)
    ct.store(left, index=(m, 0), tile=ct.load(q, index=(m, 0), shape=(TILE_M, TILE_N)))
    ct.store(right, index=(m, 0), tile=ct.load(k, index=(m, 0), shape=(TILE_M, TILE_N)))


@ct.kernel
def pack_by_side(q, k, packed, TILE_M: ConstInt, TILE_N: ConstInt):
    m = ct.bid(0)
    width = q.shape[1]
    if ct.bid(1) == 0:
        left = packed.slice(axis=1, start=0, stop=width)
        ct.store(left, index=(m, 0), tile=ct.load(q, index=(m, 0), shape=(TILE_M, TILE_N)))
    else:
        right = packed.slice(axis=1, start=width, stop=2 * width)
        ct.store(right, index=(m, 0), tile=ct.load(k, index=(m, 0), shape=(TILE_M, TILE_N)))


@ct.kernel
def pack_by_overlapping_side(q, k, packed, TILE_M: ConstInt, TILE_N: ConstInt):
    m = ct.bid(0)
    width = q.shape[1]
    if ct.bid(1) == 0:
        left = packed.slice(axis=1, start=0, stop=width)
        ct.store(left, index=(m, 0), tile=ct.load(q, index=(m, 0), shape=(TILE_M, TILE_N)))
    else:
        right = packed.slice(axis=1, start=width - 1, stop=2 * width)
        ct.store(right, index=(m, 0), tile=ct.load(k, index=(m, 0), shape=(TILE_M, TILE_N)))
