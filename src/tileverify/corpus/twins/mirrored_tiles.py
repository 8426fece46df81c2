"""Fills a symmetric matrix of tiles: each block one row of the lower triangle and its mirror image."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_symmetric(out, TILE: ConstInt):
    r = ct.bid(0)
    for c in range(r + 1):
        tile = ct.full((TILE, TILE), r, dtype=out.dtype)
        ct.store(out, index=(r, c), tile=tile)
        ct.store(out, index=(c, r), tile=tile)


@ct.kernel
def fill_symmetric_rows(out, TILE: ConstInt):
    r = ct.bid(0)
    for c in range(ct.num_blocks(0)):
        tile = ct.full((TILE, TILE), r, dtype=out.dtype)
        ct.store(out, index=(r, c), tile=tile)
        ct.store(out, index=(c, r), tile=tile)
