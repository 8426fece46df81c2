"""The first row is written by the block that a mask lets through, or by all that it does not."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def write_first(mask, out, TILE: ConstInt):
    b = ct.bid(0)
    if ct.load(mask, index=(b,), shape=()).item() != 0:
        ct.store(out, index=(0,), tile=ct.full((TILE,), b, dtype=out.dtype))


@ct.kernel
def write_first_if_not(mask, out, TILE: ConstInt):
    b = ct.bid(0)
    if ct.load(mask, index=(b,), shape=()).item() == 0:
        ct.store(out, index=(0,), tile=ct.full((TILE,), b, dtype=out.dtype))
