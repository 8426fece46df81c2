"""Rotary position embedding in place: both halves of the head dimension are read before either is written."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def rope(q, cos, sin, TILE_H: ConstInt, HALF: ConstInt):
    rows = q.shape[2]
    b = ct.bid(0) // rows
    s = ct.bid(0) % rows
    c = ct.load(cos, index=(s, 0), shape=(1, HALF)).reshape((1, 1, 1, HALF))
    d = ct.load(sin, index=(s, 0), shape=(1, HALF)).reshape((1, 1, 1, HALF))
    low = ct.load(q, index=(b, 0, s, 0), shape=(1, TILE_H, 1, HALF))
    high = ct.load(q, index=(b, 0, s, 1), shape=(1, TILE_H, 1, HALF))
    ct.store(q, index=(b, 0, s, 0), tile=(low * c - high * d).astype(q.dtype))
    ct.store(q, index=(b, 0, s, 1), tile=(high * c + low * d).astype(q.dtype))
