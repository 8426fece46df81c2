"""Writes 96 of 128 lanes, blocks 96 elements apart: the mask is exact, or one lane too wide."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_masked(out, TILE: ConstInt, STEP: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (ct.bid(0) * STEP + lanes,), ct.bid(0), mask=lanes < STEP)


@ct.kernel
def fill_masked_too_far(out, TILE: ConstInt, STEP: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (ct.bid(0) * STEP + lanes,), ct.bid(0), mask=lanes <= STEP)
