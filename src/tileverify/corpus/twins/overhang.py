"""Writes rows of a flat array by tiles that may be longer: the overhang is masked, or spills into the next row."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_rows(out, width, TILE: ConstInt):
    row = ct.bid(0)
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (row * width + lanes,), row, mask=lanes < width)


@ct.kernel
def fill_rows_spilling(out, width, TILE: ConstInt):
    row = ct.bid(0)
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (row * width + lanes,), row)
