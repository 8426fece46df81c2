"""Experts write their rows of a table: one that got no token writes nothing, whatever its row number is."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_rows_of_used_experts(rows, counts, x, out, TILE: ConstInt):
    e = ct.bid(0)
    if ct.load(counts, index=(e,), shape=(1,)).item() > 0:
        row = ct.load(rows, index=(e,), shape=(1,)).item()
        ct.store(out, index=(row, 0), tile=ct.load(x, index=(e, 0), shape=(1, TILE)))


@ct.kernel
def write_rows_of_all_experts(rows, counts, x, out, TILE: ConstInt):
    e = ct.bid(0)
    row = ct.load(rows, index=(e,), shape=(1,)).item()
    ct.store(out, index=(row, 0), tile=ct.load(x, index=(e, 0), shape=(1, TILE)))
