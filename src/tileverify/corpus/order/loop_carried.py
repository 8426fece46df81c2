"""Every iteration reads the tile that the previous one wrote."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def running_sum(x, out, TILE_N: ConstInt):
    row = ct.bid(0)
    ct.store(out, index=(row, 0), tile=ct.load(x, index=(row, 0), shape=(1, TILE_N)))
    for j in range(1, ct.num_tiles(x, axis=1, shape=(1, TILE_N))):
        before = ct.load(out, index=(row, j - 1), shape=(1, TILE_N))
        ct.store(out, index=(row, j), tile=before + ct.load(x, index=(row, j), shape=(1, TILE_N)))
