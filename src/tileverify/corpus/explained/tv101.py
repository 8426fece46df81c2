"""Blocks 2k and 2k + 1 both write tile k; the index of a store must tell blocks apart."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def keep_one_of_two(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def keep_all(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
