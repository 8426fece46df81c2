"""Block 0 clears a sum with a plain store while others add to it; the host has to clear it before the launch."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def clear_and_sum(x, total, TILE: ConstInt):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    if i == 0:
        ct.store(total, index=(0,), tile=ct.zeros((1,), dtype=total.dtype))
    ct.atomic_add(total, (0,), ct.sum(tile))


@ct.kernel
def add_to_sum(x, total, TILE: ConstInt):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.atomic_add(total, (0,), ct.sum(tile))
