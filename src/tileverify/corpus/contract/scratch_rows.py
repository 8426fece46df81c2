"""Rows that go through a scratch array, which holds nothing when the launch begins."""

import cuda.tile as ct

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def through_scratch(x, scratch, out, TILE: ConstInt):
    row = ct.bid(0)
    for k in range(ct.cdiv(x.shape[1], TILE)):
        ct.store(scratch, index=(row, k), tile=2 * ct.load(x, index=(row, k), shape=(1, TILE), padding_mode=ZERO))
    for k in range(ct.cdiv(x.shape[1], TILE)):
        ct.store(out, index=(row, k), tile=ct.load(scratch, index=(row, k), shape=(1, TILE), padding_mode=ZERO))


@ct.kernel
def through_whole_tiles(x, scratch, out, TILE: ConstInt):
    row = ct.bid(0)
    for k in range(x.shape[1] // TILE):
        ct.store(scratch, index=(row, k), tile=2 * ct.load(x, index=(row, k), shape=(1, TILE), padding_mode=ZERO))
    for k in range(ct.cdiv(x.shape[1], TILE)):
        ct.store(out, index=(row, k), tile=ct.load(scratch, index=(row, k), shape=(1, TILE), padding_mode=ZERO))


@ct.kernel
def sum_of_others(x, parts, count, out, TILE: ConstInt, MANY: ConstInt):
    i = ct.bid(0)
    ct.store(parts, index=(i,), tile=ct.sum(ct.load(x, index=(i,), shape=(TILE,), padding_mode=ZERO)))
    if ct.atomic_add(count, (0,), 1).item() == ct.num_blocks(0) - 1:
        ct.store(out, index=(0,), tile=ct.sum(ct.load(parts, index=(0,), shape=(MANY,), padding_mode=ZERO)))
