"""Kernels that the tests of launches share."""

from __future__ import annotations

import cuda.tile as ct

import tileverify


@ct.kernel
def axpy(alpha, x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    tile = alpha * ct.load(x, index=(i,), shape=(TILE,)) + ct.load(y, index=(i,), shape=(TILE,))
    ct.store(y, index=(i,), tile=tile)


@ct.kernel
def add_all(x, y, TILE: ct.Constant[int]):
    """Every block writes the first tile."""
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
    ct.store(y, index=(0,), tile=tile)


@ct.kernel
def put(places, x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    where = ct.load(places, index=(i,), shape=(TILE,))
    ct.scatter(y, where, ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def halves(pair, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(pair[0], (i,), (TILE,)) + ct.load(pair[1], (i,), (TILE,)))


@ct.kernel
def sum_all(xs, out, n: int, TILE: ct.Constant[int]):
    i = ct.bid(0)
    total = ct.zeros((TILE,), dtype=ct.float32)
    for k in range(n):
        total += ct.load(xs[k], (i,), (TILE,))
    ct.store(out, (i,), total)


@ct.kernel
def put_list(places, xs, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    where = ct.load(places, index=(i,), shape=(TILE,))
    ct.scatter(y, where, ct.load(xs[0], index=(i,), shape=(TILE,)))


@ct.kernel
def fill_all(outs, TILE: ct.Constant[int]):
    """Block i writes the i-th array of a list."""
    i = ct.bid(0)
    ct.store(outs[i], index=(0,), tile=ct.full((TILE,), 1, dtype=ct.float32))


@tileverify.launch(args={"places": "i32[N]", "x": "f32[N]", "y": "f32[M]", "TILE": 128}, data=["injective(places)"])
@ct.kernel
def put_apart(places, x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    where = ct.load(places, index=(i,), shape=(TILE,))
    ct.scatter(y, where, ct.load(x, index=(i,), shape=(TILE,)))


@tileverify.kernel(occupancy=2)
def negate(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=-ct.load(x, index=(i,), shape=(TILE,)))


@ct.kernel
def retype(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, index=(i,), shape=(TILE,))
    ct.store(y, index=(i,), tile=ct.astype(tile, y.dtype))
