"""Kernels that differ from what anybody expects at single numbers, or at integers that are not small."""

import cuda.tile as ct

import tileverify

FLOATS = {"x": "f32[N]", "out": "f32[N]"}
INTEGERS = {"x": "i32[N]", "out": "i32[N]"}
GRID = ["cdiv(N, 32)"]


def _block(x):
    return ct.load(x, (ct.bid(0),), (32,))


@tileverify.launch(args=FLOATS, grid=GRID)
@ct.kernel
def above_one(x, out):
    ct.store(out, (ct.bid(0),), ct.where(_block(x) > 1.0, 5.0, 0.0))


@tileverify.launch(args=FLOATS, grid=GRID)
@ct.kernel
def but_for_five(x, out):
    t = _block(x)
    ct.store(out, (ct.bid(0),), ct.where(t == 5.0, 0.0, t))


@tileverify.launch(args={"x": "f32[M, N]", "out": "i32[M]"}, grid=["M"], requires=["N == 8"])
@ct.kernel
def last_of_the_largest(x, out):
    t = ct.load(x, (ct.bid(0), 0), (1, 8))
    lanes = ct.reshape(ct.arange(8, dtype=ct.int32), (1, 8))
    ct.store(out, (ct.bid(0),), ct.max(ct.where(t == ct.max(t, 1, keepdims=True), lanes, -1), 1))


@tileverify.launch(args={"x": "f32[M, N]", "out": "i32[M]"}, grid=["M"], requires=["N == 8"])
@ct.kernel
def first_of_the_largest(x, out):
    ct.store(out, (ct.bid(0),), ct.argmax(ct.load(x, (ct.bid(0), 0), (1, 8)), 1))


@tileverify.launch(args=INTEGERS, grid=GRID)
@ct.kernel
def thirds(x, out):
    ct.store(out, (ct.bid(0),), _block(x) // 3)


@tileverify.launch(args=INTEGERS, grid=GRID)
@ct.kernel
def but_for_12345(x, out):
    t = _block(x)
    ct.store(out, (ct.bid(0),), ct.where(t == 12345, 0, t))


@tileverify.launch(args={"x": "i8[N]", "out": "i32[N]"}, grid=GRID)
@ct.kernel
def doubled_in_8_bits(x, out):
    t = _block(x)
    ct.store(out, (ct.bid(0),), ct.astype(t + t, ct.int32))


@tileverify.launch(args={"x": "i32[N]", "out": "f32[N]"}, grid=GRID)
@ct.kernel
def thousands(x, out):
    ct.store(out, (ct.bid(0),), ct.astype(_block(x) * 1000, ct.float32))


@tileverify.launch(args={"x": "i32[N]", "out": "i32[1]"}, grid=[1], requires=["N == 32"])
@ct.kernel
def whole_sum(x, out):
    ct.store(out, (0,), ct.reshape(ct.sum(_block(x)), (1,)))


@tileverify.launch(args={**INTEGERS, "k": "i32"}, grid=GRID)
@ct.kernel
def multiples(x, out, k):
    ct.store(out, (ct.bid(0),), _block(x) * k)


@tileverify.launch(args={**FLOATS, "scale": "f32"}, grid=GRID)
@ct.kernel
def but_for_a_scale_of_one(x, out, scale):
    t = _block(x)
    if scale == 1.0:
        t = t + 1.0
    ct.store(out, (ct.bid(0),), t * scale)


@tileverify.launch(args=FLOATS, grid=GRID)
@ct.kernel
def doubled(x, out):
    ct.store(out, (ct.bid(0),), _block(x) * 2)


SCALED = {**FLOATS, "n": "i32"}


@tileverify.launch(args=SCALED, grid=GRID)
@ct.kernel
def but_for_minus_seven(x, out, n):
    ct.store(out, (ct.bid(0),), ct.where(n == -7, 0.0, _block(x)))


@tileverify.launch(args=SCALED, grid=GRID)
@ct.kernel
def but_below_minus_two_thousand(x, out, n):
    ct.store(out, (ct.bid(0),), ct.where(n < -2000, 0.0, _block(x)))


@tileverify.launch(args=SCALED, grid=GRID)
@ct.kernel
def but_where_one_less_wraps(x, out, n):
    ct.store(out, (ct.bid(0),), ct.where(n - 1 > n, 0.0, _block(x)))


@tileverify.launch(args=SCALED, grid=GRID, requires=["n >= 0"])
@ct.kernel
def but_for_what_is_shut_out(x, out, n):
    ct.store(out, (ct.bid(0),), ct.where(n == -7, 0.0, _block(x)))


@tileverify.launch(args={**FLOATS, "scale": "f32"}, grid=GRID)
@ct.kernel
def but_for_scales_below_zero(x, out, scale):
    ct.store(out, (ct.bid(0),), ct.where(scale < 0, 0.0, _block(x) * scale))


@tileverify.launch(args={**FLOATS, "scale": "f32"}, grid=GRID)
@ct.kernel
def but_for_a_scale_of_an_eighth(x, out, scale):
    ct.store(out, (ct.bid(0),), ct.where(scale == -0.125, 0.0, _block(x) * scale))


@tileverify.launch(args=FLOATS, grid=GRID)
@ct.kernel
def but_in_a_narrow_window(x, out):
    t = _block(x)
    ct.store(out, (ct.bid(0),), ct.where((t > 0.5) & (t < 0.50001), 0.0, t))
