"""silu, and kernels that are it for most sizes and contents; each but the first has a way of its own to be wrong."""

import cuda.tile as ct

import tileverify

VECTOR = {"x": "f32[N]", "out": "f32[N]"}
B = ["cdiv(N, 128)"]
Z = ct.PaddingMode.ZERO


def silu(t):
    return t / (1 + ct.exp(-t))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def right(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), silu(t))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def by_size(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    keep = 1 - ct.minimum(x.shape[0] >> 9, 1)
    ct.store(out, (ct.bid(0),), silu(t) * ct.astype(keep, ct.float32))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def by_grid(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    factor = ct.minimum(ct.num_blocks(0) // 5, 1)
    ct.store(out, (ct.bid(0),), silu(t) + 0.5 * ct.astype(factor, ct.float32))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def last_tile_copied(x, out):
    i = ct.bid(0)
    j = ct.minimum(i, ct.maximum(ct.num_blocks(0) - 2, 0))
    t = ct.load(x, (j,), (128,), padding_mode=Z)
    ct.store(out, (i,), silu(t))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def off_by_1e6(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), silu(t) * 1.000001)


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def off_by_an_ulp(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), silu(t) * 1.0000001)


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def wrong_when_large(x, out):
    """Beyond 160, a number that the bytecode does not hold."""
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(t * 0.01 > 1.6, 0.0, silu(t)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def wrong_when_huge(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(t > 3e6, 0.0, silu(t)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def wrong_when_tiny(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(ct.abs(t) * 1e6 < 0.01, 1.0, silu(t)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def wrong_at_zero(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(t == 0, 1.0, silu(t)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def clipped(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.minimum(silu(t), 500.0 * 2.0))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def nan_trick(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), silu(t) + ct.where(t > 1.9, float("nan"), 0.0))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def nan_everywhere(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), silu(t) * float("nan"))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def by_first_value(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    first = ct.load(x, (0,), (1,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(first > 2.5, 0.0, silu(t)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def by_sum(x, out):
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(ct.sum(t) > 200.0, 0.0, silu(t)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def polynomial(x, out):
    """By its Taylor series for small numbers: off by less than 1e-9 of the value."""
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    near = t * 0.5 + t * t * 0.25 - t * t * t * t * (1 / 48)
    ct.store(out, (ct.bid(0),), ct.where(ct.abs(t) < 0.01, near, silu(t)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def one_element(x, out):
    """Element 77 of each tile is that before it."""
    i = ct.bid(0)
    places = ct.arange(128, dtype=ct.int32) + i * 128
    places = ct.where(places % 128 == 77, places - 1, places)
    ct.store(out, (i,), silu(ct.gather(x, places)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def old_output(x, out):
    """What out held before, where that is large."""
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    o = ct.load(out, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(o > 2.8, o, silu(t)))


@tileverify.launch(args=VECTOR, grid=B)
@ct.kernel
def unreachable(x, out):
    """Beyond 1e38, which no contents are."""
    t = ct.load(x, (ct.bid(0),), (128,), padding_mode=Z)
    ct.store(out, (ct.bid(0),), ct.where(t > 1e38, 0.0, silu(t)))
