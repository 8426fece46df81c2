"""A reduction over columns whose loop runs one tile too far."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def row_sums(x, out, TILE_N: ConstInt):
    row = ct.bid(0)
    acc = ct.zeros((1, TILE_N), dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, TILE_N)) + 1):
        acc = acc + ct.load(x, index=(row, j), shape=(1, TILE_N), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(row,), tile=ct.sum(acc, axis=1))
