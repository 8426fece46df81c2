"""Adds two images of a batch; the grid has a block for each image, row and column of tiles."""

import cuda.tile as ct


@ct.kernel
def add_images(a, b, out, TILE: ct.Constant[int]):
    n = ct.bid(0)
    i = ct.bid(1)
    j = ct.bid(2)
    x = ct.load(a, index=(n, i, j), shape=(1, TILE, TILE))
    y = ct.load(b, index=(n, i, j), shape=(1, TILE, TILE))
    ct.store(out, index=(0, i, j), tile=x + y)
