"""Counts how often each value occurs."""

import cuda.tile as ct


@ct.kernel
def histogram(values, counts, TILE: ct.Constant[int]):
    v = ct.load(values, index=(ct.bid(0),), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    c = ct.gather(counts, v)
    ct.scatter(counts, v, c + 1)
