"""Walks over the tiles of a matrix by one number each; a row and a column come from the same number or from two."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_by_one_number(out, TILE: ConstInt, COLUMNS: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE, TILE)) * COLUMNS
    for t in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(out, index=(t // COLUMNS, t % COLUMNS), tile=ct.full((TILE, TILE), ct.bid(0), dtype=out.dtype))


@ct.kernel
def fill_by_two_numbers(out, TILE: ConstInt, COLUMNS: ConstInt):
    tiles = ct.num_tiles(out, axis=0, shape=(TILE, TILE)) * COLUMNS
    for t in range(ct.bid(0), tiles, ct.num_blocks(0)):
        for u in range(ct.bid(0), tiles, ct.num_blocks(0)):
            ct.store(out, index=(t // COLUMNS, u % COLUMNS), tile=ct.full((TILE, TILE), ct.bid(0), dtype=out.dtype))
