"""Chunks of packed sequences: a table says which chunk of which sequence a block takes."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double_chunks(table, offsets, x, out, TILE: ConstInt):
    i = ct.bid(0)
    sequence = ct.load(table, index=(i, 0), shape=(1, 1)).item()
    chunk = ct.load(table, index=(i, 1), shape=(1, 1)).item()
    begin = ct.load(offsets, index=(sequence,), shape=(1,)).item()
    end = ct.load(offsets, index=(sequence + 1,), shape=(1,)).item()
    at = begin + chunk * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, at, 2 * ct.gather(x, at), mask=at < end)
