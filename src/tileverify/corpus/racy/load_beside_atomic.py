"""Reads a counter with a plain load after counting: other blocks may still be counting."""

import cuda.tile as ct


@ct.kernel
def count_and_read(counter, out):
    i = ct.bid(0)
    ct.atomic_add(counter, (0,), 1)
    ct.store(out, index=(i,), tile=ct.load(counter, index=(0,), shape=(1,)))
