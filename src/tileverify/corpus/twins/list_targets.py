"""Writes through a list of arrays: every block its own tile or array, or one that another block writes."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def fill_first_of_list(xs, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(xs[0], index=(i,), tile=ct.full((TILE,), i, dtype=ct.int32))


@ct.kernel
def fill_one_tile_of_list(xs, TILE: ConstInt):
    ct.store(xs[0], index=(0,), tile=ct.full((TILE,), ct.bid(0), dtype=ct.int32))


@ct.kernel
def fill_own_array(xs, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(xs[i], index=(0,), tile=ct.full((TILE,), i, dtype=ct.int32))


@ct.kernel
def fill_half_array(xs, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(xs[i // 2], index=(0,), tile=ct.full((TILE,), i, dtype=ct.int32))


@ct.kernel
def fill_next_array(xs, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(xs[i + 1], index=(0,), tile=ct.full((TILE,), i, dtype=ct.int32))


@ct.kernel
def fill_tiles_of_arrays(xs, TILE: ConstInt):
    value = ct.full((TILE,), ct.bid(0), dtype=ct.int32)
    ct.store(xs[ct.bid(0)], index=(ct.bid(1),), tile=value)


@ct.kernel
def fill_pairs_of_tiles(xs, TILE: ConstInt):
    value = ct.full((TILE,), ct.bid(1), dtype=ct.int32)
    ct.store(xs[ct.bid(0)], index=(ct.bid(1) // 2,), tile=value)


@ct.kernel
def fill_own_tile_of_all(xs, TILE: ConstInt):
    i = ct.bid(0)
    for k in range(len(xs)):
        ct.store(xs[k], index=(i,), tile=ct.full((TILE,), k, dtype=ct.int32))


@ct.kernel
def fill_same_tile_of_all(xs, TILE: ConstInt):
    i = ct.bid(0)
    for k in range(len(xs)):
        ct.store(xs[k], index=(0,), tile=ct.full((TILE,), i, dtype=ct.int32))


@ct.kernel
def copy_between_lists(xs, ys, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(ys[i], index=(0,), tile=ct.load(xs[i], index=(0,), shape=(TILE,)))


@ct.kernel
def shift_in_list(xs, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(xs[i], index=(0,), tile=ct.load(xs[i + 1], index=(0,), shape=(TILE,)))


@ct.kernel
def mark_own_array(xs, COUNT: ConstInt):
    i = ct.bid(0)
    ct.scatter(xs[i], (ct.arange(COUNT, dtype=ct.int32),), 1)
