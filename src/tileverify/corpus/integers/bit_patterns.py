"""Permutes sixteen tiles by operations on bits: exchanges, Gray code, rotation, powers; and by some that lose a bit."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def exchange(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i ^ 1,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def gray_code(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i ^ (i >> 1),), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def rotate_bits(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=((i >> 1) | ((i & 1) << 3),), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def gray_code_by_or(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i | (i >> 1),), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def rotate_by(x, out, bits, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=((i >> bits) | ((i << (4 - bits)) & 15),), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def shift_by(x, out, bits, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=((i << bits) & 15,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def exchange_by_key(x, out, key, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i ^ key,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def mask_by_key(x, out, key, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i & key,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def powers(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(1 << i,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def lose_lowest_bit(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i | 1,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def keep_two_bits(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i & 3,), tile=ct.load(x, index=(i,), shape=(TILE,)))
