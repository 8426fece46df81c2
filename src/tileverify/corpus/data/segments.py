"""Fills segments of rows, or of elements, between neighbouring offsets."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_row_segments(offsets, out, TILE: ConstInt):
    e = ct.bid(0)
    start = ct.load(offsets, index=(e,), shape=()).item()
    end = ct.load(offsets, index=(e + 1,), shape=()).item()
    for row in range(start, end):
        ct.store(out, index=(row, 0), tile=ct.full((1, TILE), e, dtype=out.dtype))


@ct.kernel
def fill_segments(offsets, out, TILE: ConstInt):
    e = ct.bid(0)
    start = ct.load(offsets, index=(e,), shape=()).item()
    end = ct.load(offsets, index=(e + 1,), shape=()).item()
    lanes = start + ct.bid(1) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (lanes,), e, mask=lanes < end)


@ct.kernel
def fill_segments_by_whole_tiles(offsets, out, TILE: ConstInt):
    e = ct.bid(0)
    start = ct.load(offsets, index=(e,), shape=()).item()
    end = ct.load(offsets, index=(e + 1,), shape=()).item()
    first = start + ct.bid(1) * TILE
    if first < end:
        ct.scatter(out, (first + ct.arange(TILE, dtype=ct.int32),), e)
