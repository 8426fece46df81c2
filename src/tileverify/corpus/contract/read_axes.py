"""Axes of an open grid: what a kernel reads of them decides whether more blocks along them are right."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_columns(x, out, TILE: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    part = ct.sum(ct.load(x, index=(i, j), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO), axis=1)
    ct.atomic_add(out, (i,), part.item())


@ct.kernel
def add_columns_plain(x, out, TILE: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    part = ct.sum(ct.load(x, index=(i, j), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO), axis=1)
    ct.store(out, index=(i,), tile=ct.load(out, index=(i,), shape=(1,)) + part)


@ct.kernel
def number_tiles(out, TILE: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, index=(i, j), tile=ct.full((1, TILE), j, dtype=out.dtype))


@ct.kernel
def number_rows_by_column(out, TILE: ConstInt):
    # The number along y goes nowhere but into the value.
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, index=(i, 0), tile=ct.full((1, TILE), j, dtype=out.dtype))


@ct.kernel
def first_column_writes(out, TILE: ConstInt):
    i, j = ct.bid(0), ct.bid(1)
    if j == 0:
        ct.store(out, index=(i, 0), tile=ct.full((1, TILE), 1, dtype=out.dtype))


@ct.kernel
def write_diagonals(out):
    place = ct.bid(0) + ct.bid(1)
    ct.store(out, index=(place,), tile=ct.full((1,), 1, dtype=out.dtype))
