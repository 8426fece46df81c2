"""Stores whole rows by their numbers, through a view with one sparse dimension."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def store_own_rows(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    i = ct.bid(0)
    rows = i * TILE_M + ct.arange(TILE_M, dtype=ct.int32)
    tile = ct.load(x, index=(i, 0), shape=(TILE_M, TILE_N))
    ct.store_advanced_indexing(out, (rows, ct.Slice(0, TILE_N)), tile)


@ct.kernel
def store_halved_rows(x, out, TILE_M: ConstInt, TILE_N: ConstInt):
    i = ct.bid(0)
    rows = (i * TILE_M + ct.arange(TILE_M, dtype=ct.int32)) // 2
    tile = ct.load(x, index=(i, 0), shape=(TILE_M, TILE_N))
    ct.store_advanced_indexing(out, (rows, ct.Slice(0, TILE_N)), tile)


@ct.kernel
def store_named_rows(x, numbers, out, TILE_M: ConstInt, TILE_N: ConstInt):
    i = ct.bid(0)
    rows = ct.load(numbers, index=(i,), shape=(TILE_M,))
    tile = ct.load(x, index=(i, 0), shape=(TILE_M, TILE_N))
    ct.store_advanced_indexing(out, (rows, ct.Slice(0, TILE_N)), tile)
