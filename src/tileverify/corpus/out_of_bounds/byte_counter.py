"""Counts 256 lanes in bytes, whose upper half reads as negative numbers."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_by_byte_counter(out, TILE: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int8)
    ct.scatter(out, (lanes.astype(ct.int32),), ct.zeros((TILE,), dtype=ct.float32), check_bounds=False)
