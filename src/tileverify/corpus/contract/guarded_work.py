"""Stores behind a count that is loaded: what a clause may not do is keep every block from them."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def clear_unless_full(count, out, limit, TILE: ConstInt):
    taken = ct.load(count, index=(0,), shape=(1,)).item()
    if taken < limit:
        ct.store(out, index=(ct.bid(0),), tile=ct.full((TILE,), 0, dtype=out.dtype))


@ct.kernel
def clear_first_unless_full(count, out, limit, TILE: ConstInt):
    taken = ct.load(count, index=(0,), shape=(1,)).item()
    if taken < limit:
        ct.store(out, index=(0,), tile=ct.full((TILE,), 0, dtype=out.dtype))


@ct.kernel
def clear_first_if_asked(out, limit, TILE: ConstInt):
    if limit > 0:
        ct.store(out, index=(0,), tile=ct.full((TILE,), 0, dtype=out.dtype))
