"""Writes at the absolute value of a distance, which for the smallest integer is negative."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_at_distance(out, distance, TILE: ConstInt):
    row = ct.bid(0)
    place = ct.abs(distance)
    if place < ct.num_tiles(out, axis=1, shape=(1, TILE)):
        ct.store(out, index=(row, place), tile=ct.full((1, TILE), row, dtype=out.dtype))
