"""One block has a task besides its own tile: block 0, or whichever block a wrong condition lets in."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def first_writes_total(x, out, total, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    if i == 0:
        ct.store(total, index=(0,), tile=ct.num_blocks(0))


@ct.kernel
def first_two_write_total(x, out, total, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    if i <= 1:
        ct.store(total, index=(0,), tile=ct.num_blocks(0) - i)


@ct.kernel
def fifth_clears_first_tile(x, out, TILE: ConstInt):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))
    if i == 5:
        ct.store(out, index=(0,), tile=ct.zeros((TILE,), dtype=out.dtype))
