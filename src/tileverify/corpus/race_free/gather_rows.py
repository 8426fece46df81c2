"""Embedding lookup: rows of a table chosen by token ids, with 32-bit or 64-bit ids."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def embedding(ids, table, out, TILE_T: ConstInt, TILE_D: ConstInt):
    t = ct.bid(0)
    d = ct.bid(1)
    rows = ct.load(ids, index=(t,), shape=(TILE_T,), padding_mode=ct.PaddingMode.ZERO)
    columns = d * TILE_D + ct.arange(TILE_D, dtype=ct.int32)
    tile = ct.gather(table, (rows[:, None], columns[None, :]))
    ct.store(out, index=(t, d), tile=tile)
