"""Appends a chunk of rows to a cache and sums the rows before: those of the past, or those of the chunk as well."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def sum_past_and_append(new, cache, out, past, TILE: ConstInt):
    i = ct.bid(0)
    acc = ct.load(new, index=(i, 0), shape=(1, TILE))
    ct.store(cache, index=(past + i, 0), tile=acc)
    for r in range(past):
        acc = acc + ct.load(cache, index=(r, 0), shape=(1, TILE))
    ct.store(out, index=(i, 0), tile=acc)


@ct.kernel
def sum_all_before_and_append(new, cache, out, past, TILE: ConstInt):
    i = ct.bid(0)
    acc = ct.load(new, index=(i, 0), shape=(1, TILE))
    ct.store(cache, index=(past + i, 0), tile=acc)
    for r in range(past + i):
        acc = acc + ct.load(cache, index=(r, 0), shape=(1, TILE))
    ct.store(out, index=(i, 0), tile=acc)
