"""Histogram: bins come from the data, lanes of one tile may hit the same bin."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def histogram(values, bins, TILE: ConstInt):
    lanes = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    bin_of = ct.gather(values, (lanes,), padding_value=-1)
    ct.atomic_add(bins, (bin_of,), 1, memory_order=ct.MemoryOrder.RELAXED)
