"""Writes to half the place of a permutation: some two places are one."""

import cuda.tile as ct


@ct.kernel
def write_at_half(places, out):
    i = ct.bid(0)
    place = ct.load(places, index=(i,), shape=()).item()
    ct.store(out, index=(place // 2,), tile=i)


@ct.kernel
def halve_then_write(places, out):
    i = ct.bid(0)
    place = ct.load(places, index=(i,), shape=()).item()
    ct.store(places, index=(i,), tile=place // 2)
    halved = ct.load(places, index=(i,), shape=()).item()
    ct.store(out, index=(halved,), tile=i)
