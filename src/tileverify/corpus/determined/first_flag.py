"""Whether a row is stored depends on flags, of which the tile holds more than there are."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def store_if_any_unpadded(flags, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(flags, index=(i, 0), shape=(1, TILE))
    if ct.max(row) > 0:
        ct.store(out, index=(i,), tile=ct.full((1,), 1, dtype=ct.int32))


@ct.kernel
def store_if_any(flags, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(flags, index=(i, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO)
    if ct.max(row) > 0:
        ct.store(out, index=(i,), tile=ct.full((1,), 1, dtype=ct.int32))
