"""Adds tiles to one row: atomically through a view, or some blocks plainly."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def add_rows(x, out, TILE: ConstInt):
    row = ct.bid(0)
    tile = ct.load(x, index=(row, 0), shape=(1, TILE)).reshape((TILE,))
    out.tiled_view((TILE,)).atomic_store_add((0,), tile)


@ct.kernel
def add_rows_after_first(x, out, TILE: ConstInt):
    row = ct.bid(0)
    tile = ct.load(x, index=(row, 0), shape=(1, TILE)).reshape((TILE,))
    if row == 0:
        ct.store(out, index=(0,), tile=tile)
    else:
        out.tiled_view((TILE,)).atomic_store_add((0,), tile)
