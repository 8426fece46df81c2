"""Kernels that take every kind of parameter; their launches stand in shapes.tileverify.toml."""

from typing import Annotated

import cuda.tile as ct

Int = ct.Constant[int]


@ct.kernel
def vector_add(x, y, out, tile: Int):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (tile,)) + ct.load(y, (i,), (tile,)))


@ct.kernel
def scale_rows(x, out, factor, rows, tile: Int = 64):
    row = ct.bid(0)
    if row < rows:
        ct.store(out, (row, 0), ct.load(x, (row, 0), (1, tile)) * factor)


@ct.kernel
def gather_rows(table, idx, out, tile: Int):
    i = ct.bid(0)
    lane = ct.arange(tile, dtype=ct.int32)
    row = ct.load(idx, (i,), (1,)).item()
    ct.scatter(out, (i, lane), ct.gather(table, (row, lane)))


@ct.kernel
def sum_list(xs, out, tile: Int):
    total = ct.zeros((tile,), dtype=ct.float32)
    for g in range(len(xs)):
        total = total + ct.load(xs[g], (ct.bid(0),), (tile,))
    ct.store(out, (ct.bid(0),), total)


@ct.kernel
def pairs(both, tile: Int):
    x, y = both
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)))


@ct.kernel
def wide(x: ct.IndexedWithInt64, out: ct.IndexedWithInt64, n: ct.ScalarInt64, tile: Int):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,)) + ct.astype(n, ct.float32))


@ct.kernel
def fixed(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(-1,))], out, tile: Int):
    width = x.shape[1]
    ct.store(out, (0, 0), ct.load(x, (0, 0), (1, tile)) * width)


@ct.kernel
def in_place(x, out, tile: Int):
    for i in range(4):
        t = ct.load(x, (i,), (tile,))
        ct.store(out, (i,), t + 1.0)


@ct.kernel
def flags(mask, out, tile: Int):
    kept = ct.load(mask, (ct.bid(0),), (tile,))
    ct.store(out, (ct.bid(0),), ct.where(kept, ct.full((tile,), 1.0, dtype=ct.float32), 0.0))


@ct.kernel
def counted(counter, out):
    ticket = ct.atomic_add(counter, (0,), 1)
    ct.scatter(out, (ticket,), ticket)


@ct.kernel
def hinted(x, out, tile: Int):
    t = ct.load(x, (ct.bid(0),), (tile,), latency=4, allow_tma=False)
    ct.store(out, (ct.bid(0),), t, latency=2)


@ct.kernel
def unchecked(x, out, tile: Int):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (tile,), check_bounds=False), check_bounds=False)
