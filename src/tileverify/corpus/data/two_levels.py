"""Scatters to a place that a second index array gives for the number in the first."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def scatter_through_two(first, second, out, TILE: ConstInt):
    i = ct.bid(0)
    lanes = i * TILE + ct.arange(TILE, dtype=ct.int32)
    numbers = ct.gather(first, (lanes,), padding_value=-1)
    places = ct.gather(second, (numbers,), padding_value=-1)
    ct.scatter(out, (places,), lanes)
