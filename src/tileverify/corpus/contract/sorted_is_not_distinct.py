"""Scatters to places that are sorted, which does not make them differ."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def scatter_sorted(places, out, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (ct.gather(places, (lanes,), padding_value=-1),), lanes)
