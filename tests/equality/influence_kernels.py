"""Kernels that compute what changes nothing, for a case that no contents show, and kernels all of whose ops count.

Each is ``2 * x`` (or what its reference beside it says) over the real numbers, at all points that are drawn.
"""

import cuda.tile as ct

import tileverify

VECTOR = {"x": "f32[N]", "out": "f32[N]"}
ROWS = {"x": "f32[M, N]", "out": "f32[M, N]"}
GRID = ["cdiv(N, 64)"]
ZERO = ct.PaddingMode.ZERO


def _block(x):
    return ct.load(x, (ct.bid(0),), (64,), padding_mode=ZERO)


def _lane(t, place):
    return ct.sum(ct.where(ct.arange(64, dtype=ct.int32) == place, t, 0.0))


# ------------------------------------------------------------------------------------- changes nothing, and is told
@tileverify.launch(args=VECTOR, grid=GRID)
@ct.kernel
def cancels_beside_a_large_number(x, out):
    t = _block(x)
    d = (_lane(t, 0) - _lane(t, 1)) * _lane(t, 1) * 1.37 - 7.013
    w = 1.0 / (1.0 + 1.0e12 * d * d)
    v = 1.0e34 * w * w * w * w * w * w
    ct.store(out, (ct.bid(0),), (t * 2.0 + v) - v)


@tileverify.launch(args=VECTOR, grid=GRID)
@ct.kernel
def product_of_signs(x, out):
    t = _block(x)
    turn = ct.where(ct.arange(64, dtype=ct.int32) % 2 == 0, 1.0, -1.0)
    ct.store(out, (ct.bid(0),), t * 2.0 + ct.prod(ct.where(t * turn > 0.5, 1.0, 0.0)))


@tileverify.launch(args=VECTOR, grid=GRID)
@ct.kernel
def comparison_that_another_one_hides(x, out):
    t = _block(x)
    d = (_lane(t, 0) - _lane(t, 1)) * _lane(t, 1) * 1.37 - 7.013
    both = ct.cat((t + 9.0, ct.zeros((64,), dtype=ct.float32) + (1.0e-6 - d * d)), 0)
    values = ct.cat((t, ct.full((64,), 1.0, dtype=ct.float32)), 0)
    kept = ct.where(both > 0.0, values, 0.0)
    low = ct.where(t + 9.0 > 0.0, 0.0, t)
    ct.store(out, (ct.bid(0),), ct.extract(kept, (0,), (64,)) + ct.extract(kept, (1,), (64,)) + low + t)


@tileverify.launch(args=VECTOR, grid=GRID)
@ct.kernel
def lost_at_one_size(x, out):
    lanes = ct.bid(0) * 64 + ct.arange(64, dtype=ct.int32)
    d = x.shape[0] * 3 - 2190000
    hit = ((d | (0 - d)) >> 31) + 1
    ct.scatter(out, (lanes + hit * 1073741824,), ct.gather(x, (lanes,)) * 2.0)


@tileverify.launch(args={**VECTOR, "alpha": "f32"}, grid=GRID)
@ct.kernel
def lost_at_one_scalar(x, out, alpha):
    lanes = ct.bid(0) * 64 + ct.arange(64, dtype=ct.int32)
    near = ct.astype(100000.0 / (1.0 + alpha * alpha), ct.int32)
    d = (near >> 3) - 8134
    hit = ((d | (0 - d)) >> 31) + 1
    ct.scatter(out, (lanes,), ct.gather(x, (lanes - hit * 1073741824,)) * alpha)


# ------------------------------------------------------------------------------------------- everything counts
@tileverify.launch(args=VECTOR, grid=GRID)
@ct.kernel
def doubled(x, out):
    ct.store(out, (ct.bid(0),), _block(x) * 2.0)


@tileverify.launch(args=ROWS, grid=["M"])
@ct.kernel
def softmax_in_one_pass(x, out):
    i = ct.bid(0)
    highest = ct.full((1, 1), -1.0e30, dtype=ct.float32)
    total = ct.zeros((1, 1), dtype=ct.float32)
    for j in range(ct.cdiv(x.shape[1], 16)):
        own = (j * 16 + ct.arange(16, dtype=ct.int32) < x.shape[1])[None, :]
        t = ct.where(own, ct.load(x, (i, j), (1, 16), padding_mode=ZERO), -1.0e30)
        now = ct.maximum(highest, ct.max(t, axis=1, keepdims=True))
        total = total * ct.exp(highest - now) + ct.sum(ct.exp(t - now), axis=1, keepdims=True)
        highest = now
    for j in range(ct.cdiv(x.shape[1], 16)):
        t = ct.load(x, (i, j), (1, 16), padding_mode=ZERO)
        ct.store(out, (i, j), ct.exp(t - highest) / total)


@tileverify.launch(args={"x": "f32[M, N]", "out": "f32[M]"}, grid=["M"], requires=["N <= 64"])
@ct.kernel
def variance(x, out):
    i = ct.bid(0)
    own = (ct.arange(64, dtype=ct.int32) < x.shape[1])[None, :]
    t = ct.load(x, (i, 0), (1, 64), padding_mode=ZERO)
    mean = ct.sum(t, axis=1, keepdims=True) / x.shape[1]
    centred = ct.where(own, t - mean, 0.0)
    ct.store(out, (i,), (ct.sum(centred * centred, axis=1) / x.shape[1]))


@tileverify.launch(args={"x": "i32[N]", "out": "i32[N]"}, grid=GRID)
@ct.kernel
def remainder(x, out):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (64,), padding_mode=ZERO) % 7)


@tileverify.launch(args=VECTOR, grid=GRID)
@ct.kernel
def whole_tiles_without_a_mask(x, out):
    i = ct.bid(0)
    lanes = i * 64 + ct.arange(64, dtype=ct.int32)
    if x.shape[0] % 64 == 0:
        ct.store(out, (i,), ct.load(x, (i,), (64,)) * 2.0)
    else:
        ct.scatter(out, (lanes,), ct.gather(x, (lanes,)) * 2.0)


@tileverify.launch(args=VECTOR, grid=GRID)
@ct.kernel
def asserting(x, out):
    t = _block(x)
    ct.assert_(ct.sum(t * 3.0) < 1.0e30, "too large")  # noqa: PT009
    ct.store(out, (ct.bid(0),), t * 2.0)
