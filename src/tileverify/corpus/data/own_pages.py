"""Clears the pages that a table lists for each sequence."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def clear_pages(table, pages, SLOTS: ConstInt, TILE: ConstInt):
    b = ct.bid(0)
    for slot in range(SLOTS):
        page = ct.load(table, index=(b, slot), shape=()).item()
        if page >= 0:
            ct.store(pages, index=(page, 0), tile=ct.full((1, TILE), b, dtype=pages.dtype))


@ct.kernel
def clear_all_pages(table, pages, SLOTS: ConstInt, TILE: ConstInt):
    b = ct.bid(0)
    for slot in range(SLOTS):
        page = max(0, ct.load(table, index=(b, slot), shape=()).item())
        ct.store(pages, index=(page, 0), tile=ct.full((1, TILE), b, dtype=pages.dtype))
