"""Blocks store the same values in one place, which a launch may allow; and the same kernels with one mistake."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def double_in_each_row(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=2.0 * ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO))


@ct.kernel
def double_but_one_element(x, out, TILE: ConstInt):
    i = ct.bid(0)
    tile = 2.0 * ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    lanes = ct.arange(TILE, dtype=ct.int32)
    ct.store(out, index=(i,), tile=ct.where(lanes == 5, tile + ct.bid(1) * 0.5, tile))


@ct.kernel
def copy_shifted_tail(x, out, N: ConstInt, TILE: ConstInt):
    lanes = ct.minimum(ct.bid(0) * TILE, N - TILE) + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(out, (lanes,), ct.gather(x, (lanes,)))


@ct.kernel
def copy_shifted_reads(x, out, N: ConstInt, TILE: ConstInt):
    lanes = ct.arange(TILE, dtype=ct.int32)
    tile = ct.gather(x, (ct.bid(0) * TILE + lanes,))
    ct.scatter(out, (ct.minimum(ct.bid(0) * TILE, N - TILE) + lanes,), tile)


@ct.kernel
def round_in_each_block(x, out, TILE: ConstInt):
    tile = ct.load(x, index=(0,), shape=(TILE,))
    ct.store(out, index=(0,), tile=(tile + 3e7) - 3e7)


@ct.kernel
def round_in_two_orders(x, out, TILE: ConstInt):
    tile = ct.load(x, index=(0,), shape=(TILE,))
    if ct.bid(0) % 2 == 0:
        ct.store(out, index=(0,), tile=(tile + 3e7) - 3e7)
    else:
        ct.store(out, index=(0,), tile=tile + (3e7 - 3e7))


@ct.kernel
def first_row(x, out, TILE: ConstInt):
    ct.store(out, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO))


@ct.kernel
def first_row_open_padding(x, out, TILE: ConstInt):
    ct.store(out, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)))


@ct.kernel
def number_by_atomic(counter, out):
    ct.store(out, index=(0,), tile=ct.atomic_add(counter, (0,), 1))


@ct.kernel
def store_then_read(x, out, copy, TILE: ConstInt):
    ct.store(out, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO))
    ct.store(copy, index=(ct.bid(0),), tile=ct.load(out, index=(0,), shape=(TILE,)))
