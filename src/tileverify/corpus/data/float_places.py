"""Places made from floats: the conversion gives some integer of its type, also for what is out of its range."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def mark_own_clamped(x, out, TILE: ConstInt):
    i = ct.bid(0)
    place = ct.minimum(ct.maximum(ct.astype(ct.gather(x, (i,)), ct.int32), 0), TILE - 1)
    ct.scatter(out, (i * TILE + place,), 1)


@ct.kernel
def move_by_float(x, out, scale, TILE: ConstInt):
    i = ct.bid(0)
    first = ct.minimum(ct.maximum(ct.astype(scale, ct.int32), 0), 3)
    ct.store(out, index=(i + first,), tile=ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def move_pairs_by_float(x, out, scale, TILE: ConstInt):
    i = ct.bid(0)
    first = ct.minimum(ct.maximum(ct.astype(scale, ct.int32), 0), 3)
    ct.store(out, index=(i // 2 + first,), tile=ct.load(x, index=(i,), shape=(TILE,)))
