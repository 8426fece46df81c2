"""Keeps the block number in a byte."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_by_unsigned_byte(out, TILE: ConstInt):
    i = ct.astype(ct.bid(0), ct.uint8)
    ct.store(out, index=(ct.astype(i, ct.int32),), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))


@ct.kernel
def fill_by_signed_byte(out, TILE: ConstInt):
    i = ct.astype(ct.bid(0), ct.int8)
    ct.store(out, index=(ct.astype(i, ct.int32),), tile=ct.full((TILE,), ct.bid(0), dtype=out.dtype))
