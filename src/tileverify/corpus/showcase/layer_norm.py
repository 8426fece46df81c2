"""Layer normalisation of rows longer than a tile: statistics in one pass over the row, the result in another."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def layer_norm(x, weight, bias, out, mean, rstd, eps, TILE_N: ConstInt):
    row = ct.bid(0)
    n = x.shape[1]
    tiles = ct.num_tiles(x, axis=1, shape=(1, TILE_N))
    total = ct.zeros((1, TILE_N), dtype=ct.float32)
    squares = ct.zeros((1, TILE_N), dtype=ct.float32)
    for j in range(tiles):
        tile = ct.load(x, index=(row, j), shape=(1, TILE_N), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        total = total + tile
        squares = squares + tile * tile
    mu = ct.sum(total, axis=1, keepdims=True) / n
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / n - mu * mu + eps)
    ct.store(mean, index=(row,), tile=mu.reshape((1,)))
    ct.store(rstd, index=(row,), tile=scale.reshape((1,)))
    for j in range(tiles):
        tile = ct.load(x, index=(row, j), shape=(1, TILE_N)).astype(ct.float32)
        w = ct.load(weight, index=(j,), shape=(TILE_N,))
        b = ct.load(bias, index=(j,), shape=(TILE_N,))
        ct.store(out, index=(row, j), tile=((tile - mu) * scale * w + b).astype(out.dtype))
