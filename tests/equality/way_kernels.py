"""Kernels whose branches nothing shows, whose conditions are arithmetic, and whose bits are moved."""

import cuda.tile as ct

import tileverify

VECTOR = {"x": "f32[N]", "out": "f32[N]"}
WHOLE = {"x": "i32[N]", "out": "i32[N]"}
B = ["cdiv(N, 64)"]
Z = ct.PaddingMode.ZERO


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def at_constants_alone(x, out):
    """Both branches agree at 0, which is in the contents, and nowhere else; beyond 1e30 no contents are."""
    t = ct.load(x, (ct.bid(0),), (64,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(t * t * 1e-38 * 1e-38 > 1.0, 3 * t, t))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def in_lanes_that_are_not_stored(x, out):
    """The half that is beyond 1e38, variables too, is never stored."""
    i = ct.bid(0)
    t = ct.load(x, (i,), (64,), padding_mode=Z)
    both = ct.cat((t, (t * t + 1e30) * 1e30), 0)
    cut = ct.where(both > 1e38, 0.0, both)
    ct.store(out, (i,), ct.extract(cut, (0,), (64,)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def both_ways(x, out):
    t = ct.load(x, (ct.bid(0),), (64,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(t > 0.25, t, t))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def by_a_branch(x, out):
    """A condition of a block: its lanes reach nothing but the ``if``."""
    i = ct.bid(0)
    t = ct.load(x, (i,), (64,), padding_mode=Z)
    if ct.sum(t) > 0.0:
        ct.store(out, (i,), t)
    else:
        ct.store(out, (i,), t * 1.0)


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def floor_of_a_bump(x, out):
    t = ct.load(x, (ct.bid(0),), (64,), padding_mode=Z)
    a = t * 4.0 - 5.0
    ct.store(out, (ct.bid(0),), t + ct.floor(1.0 / (1.0 + a * a)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def whole_part(x, out):
    t = ct.load(x, (ct.bid(0),), (64,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.floor(t))


@tileverify.launch(args=WHOLE, grid=B)
@ct.kernel
def by_a_sign(x, out):
    t = ct.load(x, (ct.bid(0),), (64,), padding_mode=Z)
    b = t * 7 - 700007
    ct.store(out, (ct.bid(0),), t + 1 + ((b | (0 - b)) >> 31))


@tileverify.launch(args=WHOLE, grid=B)
@ct.kernel
def integers(x, out):
    t = ct.load(x, (ct.bid(0),), (64,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), t)


@tileverify.launch(args={**VECTOR, "n": "i32"}, grid=B)
@ct.kernel
def a_loop_of_one_round(x, n, out):
    t = ct.load(x, (ct.bid(0),), (64,), padding_mode=Z)
    left = ct.minimum(ct.maximum(n, 0) // 2147483647, 0)
    while left > 0:
        t = t + 1.0
        left = left - 1
    ct.store(out, (ct.bid(0),), t)


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def bits_there_and_back(x, out):
    t = ct.load(x, (ct.bid(0),), (64,), padding_mode=Z)
    bits = ct.reshape(ct.bitcast(t, ct.int32), (8, 8))
    ct.store(out, (ct.bid(0),), ct.bitcast(ct.reshape(bits, (64,)), ct.float32))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def bits_looked_at(x, out):
    t = ct.load(x, (ct.bid(0),), (64,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.bitcast(ct.bitcast(t, ct.int32) & 0x7FFFFFFF, ct.float32))


@tileverify.launch(args={"x": "f32[640]", "out": "f32[640]"}, grid=[10])
@ct.kernel
def of_numbers(x, out):
    ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (64,)))
