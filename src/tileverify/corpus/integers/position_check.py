"""Compares a position with the number of tiles: as a signed number, or as an unsigned one."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_if_below_signed(out, position, TILE: ConstInt):
    row = ct.bid(0)
    if position < ct.num_tiles(out, axis=1, shape=(1, TILE)):
        ct.store(out, index=(row, position), tile=ct.full((1, TILE), row, dtype=out.dtype))


@ct.kernel
def write_if_below_unsigned(out, position, TILE: ConstInt):
    row = ct.bid(0)
    tiles = ct.num_tiles(out, axis=1, shape=(1, TILE))
    if ct.astype(position, ct.uint32) < ct.astype(tiles, ct.uint32):
        ct.store(out, index=(row, position), tile=ct.full((1, TILE), row, dtype=out.dtype))
