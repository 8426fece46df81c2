"""Reductions with a function and an identity of one's own: lanes may be combined in any order, with the identity among
them any number of times."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def row_sum_from_zero(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    ct.store(out, index=(i,), tile=ct.reduce(row, 1, lambda a, b: a + b, 0))


@ct.kernel
def row_sum_from_one(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    ct.store(out, index=(i,), tile=ct.reduce(row, 1, lambda a, b: a + b, 1))


@ct.kernel
def row_difference(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE)) + ct.arange(TILE, dtype=ct.int32)[None, :]
    ct.store(out, index=(i,), tile=ct.reduce(row, 1, lambda a, b: a - b, 0))


@ct.kernel
def row_largest_magnitude(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    ct.store(out, index=(i,), tile=ct.reduce(row, 1, lambda a, b: max(abs(a), abs(b)), 0.0))


@ct.kernel
def row_last_of_largest(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    places = ct.arange(TILE, dtype=ct.int32)[None, :]

    def later(value, place, other, other_place):
        first = (value > other) | ((value == other) & (place > other_place))
        return ct.where(first, value, other), ct.where(first, place, other_place)

    _, place = ct.reduce((row, places), 1, later, (-2147483648, -1))
    ct.store(out, index=(i,), tile=place)


@ct.kernel
def row_last_of_largest_from_zero(x, out, TILE: ConstInt):
    i = ct.bid(0)
    row = ct.load(x, index=(i, 0), shape=(1, TILE))
    places = ct.arange(TILE, dtype=ct.int32)[None, :]

    def later(value, place, other, other_place):
        first = (value > other) | ((value == other) & (place > other_place))
        return ct.where(first, value, other), ct.where(first, place, other_place)

    _, place = ct.reduce((row, places), 1, later, (0, 0))
    ct.store(out, index=(i,), tile=place)
