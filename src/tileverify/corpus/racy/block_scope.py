"""Adds to one accumulator with atomics whose scope is a single tile block."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def total_in_block_scope(x, out, TILE: ConstInt):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.atomic_add(out, (0,), ct.sum(tile), memory_scope=ct.MemoryScope.BLOCK)
