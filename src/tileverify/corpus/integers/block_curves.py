"""Blocks in the order of a space-filling curve or of a swizzle: bits of the block's number make row and column."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_along_z_curve(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = (i & 1) | ((i >> 1) & 2) | ((i >> 2) & 4)
    column = ((i >> 1) & 1) | ((i >> 2) & 2) | ((i >> 3) & 4)
    ct.store(out, index=(row, column), tile=ct.load(x, index=(row, column), shape=(TILE, TILE)))


@ct.kernel
def copy_along_broken_curve(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = (i & 1) | ((i >> 1) & 2) | ((i >> 2) & 4)
    column = ((i >> 1) & 1) | ((i >> 2) & 2) | ((i >> 4) & 4)
    ct.store(out, index=(row, column), tile=ct.load(x, index=(row, column), shape=(TILE, TILE)) + i)


@ct.kernel
def swizzle_columns(x, out, TILE: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, index=(i, j ^ (i & 7)), tile=ct.load(x, index=(i, j), shape=(TILE, TILE)))


@ct.kernel
def swizzle_columns_by_or(x, out, TILE: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, index=(i, j | (i & 7)), tile=ct.load(x, index=(i, j), shape=(TILE, TILE)))
