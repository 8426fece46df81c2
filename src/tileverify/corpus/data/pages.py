"""Appends one token a sequence to a paged cache; a table names the page, for one position or one for each sequence."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def append_to_page(new, table, pages, slot, TILE: ConstInt):
    b = ct.bid(0)
    page = ct.load(table, index=(b,), shape=()).item()
    tile = ct.load(new, index=(b, 0), shape=(1, TILE))
    ct.store(pages, index=(page, slot, 0), tile=tile.reshape((1, 1, TILE)))


@ct.kernel
def append_at_positions(new, table, positions, pages, TILE: ConstInt, PAGE: ConstInt):
    b = ct.bid(0)
    position = ct.load(positions, index=(b,), shape=()).item()
    page = ct.load(table, index=(b, position // PAGE), shape=(1, 1)).item()
    tile = ct.load(new, index=(b, 0), shape=(1, TILE))
    ct.store(pages, index=(page, position % PAGE, 0), tile=tile.reshape((1, 1, TILE)))
