"""One scatter whose lanes come in pairs with the same index."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_pairs(out, TILE: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (ct.bid(0) * (TILE // 2) + lanes // 2,), lanes)
