"""Lanes 2k and 2k + 1 of one scatter have the same index; every lane needs an index of its own."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_in_pairs(out, TILE: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (ct.bid(0) * TILE + lanes // 2,), lanes)


@ct.kernel
def fill_singly(out, TILE: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (ct.bid(0) * TILE + lanes,), lanes)
