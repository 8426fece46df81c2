"""Fills rows through a slice of one row; the start of the slice times the row stride is computed in the sizes' type."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_row_slices(out, TILE: ConstInt):
    row = ct.bid(0)
    own = out.slice(axis=0, start=row, stop=row + 1)
    ct.store(own, index=(0, 0), tile=ct.full((1, TILE), row, dtype=out.dtype))


@ct.kernel
def fill_row_slices_64(out: ct.IndexedWithInt64, TILE: ConstInt):
    row = ct.bid(0)
    own = out.slice(axis=0, start=row, stop=row + 1)
    ct.store(own, index=(0, 0), tile=ct.full((1, TILE), row, dtype=out.dtype))
