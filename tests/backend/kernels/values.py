"""Kernels in which two blocks meet, to look at what each of them reads and writes there."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def tile_zero(x, out, t: ConstInt):
    """Every block copies its tile of x to tile 0."""
    ct.store(out, (0,), ct.load(x, (ct.bid(0),), (t,)))


@ct.kernel
def one_value(x, out, t: ConstInt):
    """Every block stores tile 0 of x to tile 0."""
    ct.store(out, (0,), ct.load(x, (0,), (t,)))


@ct.kernel
def exponential(x, out, t: ConstInt):
    """Every block stores what a device rounds on its own."""
    ct.store(out, (0,), ct.exp(ct.load(x, (ct.bid(0),), (t,))))


@ct.kernel
def left_open(x, out, t: ConstInt):
    """Every block stores its tile of x back to front; lanes behind the end of x have no padding."""
    ct.scatter(out, (t - 1 - ct.arange(t, dtype=ct.int32),), ct.load(x, (ct.bid(0),), (t,)))


@ct.kernel
def from_the_left(x, t: ConstInt):
    """In place, from the tile of the previous block."""
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (ct.maximum(i - 1, 0),), (t,)))


@ct.kernel
def steered(x, out, t: ConstInt):
    """Blocks meet only where x holds zeros."""
    tile = ct.load(x, (0,), (1,))
    if tile.item() == 0.0:
        ct.store(out, (0,), ct.full((t,), 5.0, ct.float32))


@ct.kernel
def lanes_meet(x, out, t: ConstInt):
    """Two neighbouring lanes of a scatter hit one element."""
    lanes = ct.arange(t, dtype=ct.int32)
    ct.scatter(out, (lanes // 2,), ct.gather(x, (lanes,)))


@ct.kernel
def past_the_end(x, out, t: ConstInt):
    """A gather that nothing masks."""
    ct.store(out, (0,), ct.gather(x, (ct.arange(t, dtype=ct.int32),), check_bounds=False))


@ct.kernel
def store_beside_atomic(out):
    if ct.bid(0) == 0:
        ct.store(out, (0,), ct.full((1,), 7, ct.int32))
    else:
        ct.atomic_add(out, (0,), 1)
