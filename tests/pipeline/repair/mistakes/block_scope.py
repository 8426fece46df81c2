"""Sums a vector; the addition is atomic inside a block only."""

import cuda.tile as ct


@ct.kernel
def total(x, out, TILE: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.atomic_add(out, (0,), ct.sum(tile), memory_scope=ct.MemoryScope.BLOCK)
