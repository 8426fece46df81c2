"""Copies the last tile of every array in a list; a list holds sizes in 64 bits, whatever the kernel makes of them."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def last_tiles(xs, out, TILE: ConstInt):
    i = ct.bid(0)
    last = ct.cdiv(xs[i].shape[0], TILE) - 1
    tile = ct.load(xs[i], index=(last,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(i, 0), tile=ct.reshape(tile, (1, TILE)))


@ct.kernel
def last_tiles_by_truncated_size(xs, out, TILE: ConstInt):
    i = ct.bid(0)
    last = ct.cdiv(ct.astype(xs[i].shape[0], ct.int32), TILE) - 1
    tile = ct.load(xs[i], index=(last,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(i, 0), tile=ct.reshape(tile, (1, TILE)))
