"""Kernels with decisions inside functions: twice their input, but where ``gap`` is small; and honest ones."""

import cuda.tile as ct

import tileverify

VECTOR = {"x": "f32[N]", "out": "f32[N]"}
ROWS = {"x": "f32[M, N]", "out": "f32[M, N]"}


def gap(t):
    """0.9 where t * t * t + t is far from 11, -0.1 where it is 11."""
    far = t * t * t + t - 11.0
    return 0.9 - 1.0 / (1.0 + 1e9 * far * far)


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 64)"])
@ct.kernel
def bump_by_a_power(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (64,))
    far = t * t * t + t - 11.0
    ct.store(out, (i,), 2 * t + ct.exp2(-3e13 * far * far))


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 64)"])
@ct.kernel
def bump_by_a_magnitude(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (64,))
    ct.store(out, (i,), 2 * t + (ct.abs(gap(t)) - gap(t)))


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 64)"])
@ct.kernel
def hole_by_a_root(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (64,))
    ct.store(out, (i,), 2 * t + 0 * ct.rsqrt(gap(t)))


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 64)"])
@ct.kernel
def hole_by_a_logarithm(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (64,))
    ct.store(out, (i,), 2 * t + 0 * ct.log(gap(t)))


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 64)"])
@ct.kernel
def hole_by_a_half_power(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (64,))
    ct.store(out, (i,), 2 * t + 0 * ct.pow(gap(t), 0.5))


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 64)"])
@ct.kernel
def bump_by_the_largest_lane(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (64,), padding_mode=ct.PaddingMode.ZERO)
    both = ct.cat((ct.reshape(gap(t), (64, 1)), ct.zeros((64, 1), ct.float32)), 1)
    ct.store(out, (i,), 2 * t + (ct.max(both, axis=1) - gap(t)))


@tileverify.launch(args=ROWS, grid=["M"], requires=["N >= 1", "N <= 32"])
@ct.kernel
def normed(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (1, 32), padding_mode=ct.PaddingMode.ZERO)
    mean = ct.sum(t * t, axis=1, keepdims=True) / x.shape[1]
    ct.store(out, (i, 0), t * ct.rsqrt(mean + 1e-5))


@tileverify.launch(args=ROWS, grid=["M"], requires=["N >= 1", "N <= 32"])
@ct.kernel
def masked_softmax(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (1, 32), padding_mode=ct.PaddingMode.ZERO)
    place = ct.arange(32, dtype=ct.int32)[None, :]
    t = ct.where((place <= i) & (place < x.shape[1]), t, -1e9)
    power = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(out, (i, 0), power / ct.sum(power, axis=1, keepdims=True))


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 64)"])
@ct.kernel
def folded(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (64,))
    ct.store(out, (i,), ct.abs(-t) + 2 * ct.abs(t))
