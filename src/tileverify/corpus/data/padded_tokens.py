"""Rows written in sorted order; places behind the last token hold a number that no row has."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_tokens(tokens, out, TILE: ConstInt):
    i = ct.bid(0)
    rows = ct.load(tokens, index=(i,), shape=(TILE,))
    ct.scatter(out, (rows,), i * TILE + ct.arange(TILE, dtype=ct.int32))


@ct.kernel
def write_tokens_of_two(tokens, out, TILE: ConstInt):
    i = ct.bid(0)
    rows = ct.load(tokens, index=(i,), shape=(TILE,)) // 2
    ct.scatter(out, (rows,), i * TILE + ct.arange(TILE, dtype=ct.int32))


@ct.kernel
def write_named_tokens(tokens, out, TILE: ConstInt):
    i = ct.bid(0)
    rows = ct.load(tokens, index=(i,), shape=(TILE,))
    ct.scatter(out, (rows + 1,), i * TILE + ct.arange(TILE, dtype=ct.int32), mask=rows != -1)
