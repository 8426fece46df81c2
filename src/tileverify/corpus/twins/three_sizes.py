"""A block number taken apart by three sizes, and put together again in another order."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def turn_three_axes(x, out, na, nb, nc, TILE: ConstInt):
    i = ct.bid(0)
    a = i // (nb * nc)
    b = (i // nc) % nb
    c = i % nc
    ct.store(out, ((c * nb + b) * na + a, 0), ct.load(x, (i, 0), (1, TILE)))


@ct.kernel
def turn_two_of_three_axes(x, out, na, nb, nc, TILE: ConstInt):
    i = ct.bid(0)
    a = i // (nb * nc)
    b = (i // nc) % nb
    ct.store(out, (b * na + a, 0), ct.load(x, (i, 0), (1, TILE)))
