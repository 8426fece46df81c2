"""A kernel with two faults: the first does not hide the second."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def copy_from_second_half(x, out, TILE: ConstInt):
    i = ct.bid(0) + ct.num_tiles(x, axis=0, shape=(TILE,))
    ct.store(out, index=(0,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def copy_second_half(x, out, TILE: ConstInt):
    i = ct.bid(0) + ct.cdiv(out.shape[0], TILE)
    ct.store(out, index=(ct.bid(0),), tile=ct.load(x, index=(i,), shape=(TILE,)))
