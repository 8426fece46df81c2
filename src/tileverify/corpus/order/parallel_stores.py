"""A loop whose stores the compiler leaves unordered, because every iteration writes another tile."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_row(out, value, TILE_N: ConstInt):
    row = ct.bid(0)
    for j in range(ct.num_tiles(out, axis=1, shape=(1, TILE_N))):
        ct.store(out, index=(row, j), tile=ct.full((1, TILE_N), value, dtype=out.dtype))
