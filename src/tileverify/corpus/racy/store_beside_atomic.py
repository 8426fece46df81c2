"""Block 0 initialises the accumulator with a plain store while other blocks already add to it."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def initialise_and_add(x, out, TILE: ConstInt):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    if i == 0:
        ct.store(out, index=(0,), tile=ct.zeros((1,), dtype=out.dtype))
    ct.atomic_add(out, (0,), ct.sum(tile))
