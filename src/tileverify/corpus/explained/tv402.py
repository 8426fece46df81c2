"""Block 0 divides by its own number, which is 0."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def share_among_those_before(out, work: int):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.full((1,), work // i, dtype=ct.int32))


@ct.kernel
def share_with_those_before(out, work: int):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.full((1,), work // (i + 1), dtype=ct.int32))
