"""Rows of four small tiles that an argument spaces out."""

import cuda.tile as ct


@ct.kernel
def write_spaced(out, step):
    place = ct.bid(0) * step + ct.bid(1) * 4 + ct.arange(4, dtype=ct.int32)
    ct.scatter(out, (place,), ct.full((4,), 1, dtype=out.dtype))


@ct.kernel
def write_spaced_too_close(out, step):
    place = ct.bid(0) * step + ct.bid(1) * 3 + ct.arange(4, dtype=ct.int32)
    ct.scatter(out, (place,), ct.full((4,), 1, dtype=out.dtype))
