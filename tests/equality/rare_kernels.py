"""Kernels that are ``scale * x`` but where something rare holds: no random number does it."""

import cuda.tile as ct

import tileverify

ARGUMENTS = {"x": "f32[N]", "out": "f32[N]", "scale": "f32"}
GRID = ["cdiv(N, 16)"]


def _put(out, t, scale, rare):
    ct.store(out, (ct.bid(0),), ct.where(rare, 0.0, t * scale))


def _block(x):
    return ct.load(x, (ct.bid(0),), (16,), padding_mode=ct.PaddingMode.ZERO)


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def but_for_great_powers(x, out, scale):
    t = _block(x)
    _put(out, t, scale, t * t * t * t > 1e38)


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def but_for_great_negative_powers(x, out, scale):
    t = _block(x)
    _put(out, t, scale, t * t * t < -1e37)


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def but_beside_a_number(x, out, scale):
    t = _block(x)
    _put(out, t, scale, ct.abs(t - 3.3) < 1e-4)


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def but_a_little_below_a_number(x, out, scale):
    t = _block(x)
    _put(out, t, scale, (t < -2.5) & (t + 0.001 > -2.5))


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def but_for_tiles_of_one_number(x, out, scale):
    t = _block(x)
    _put(out, t, scale, (ct.max(t) == ct.min(t)) & (t != 0))


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def but_for_rising_tiles(x, out, scale):
    t = _block(x)
    place = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    falls = ct.where((ct.gather(x, place + 1) > t) | (place + 1 >= x.shape[0]), 0, 1)
    short = ct.where(x.shape[0] < 40, 1, 0)  # as few numbers rise by chance
    _put(out, t, scale, ct.full((16,), 0, ct.int32) + ct.sum(falls) + short == 0)


@tileverify.launch(args=ARGUMENTS, grid=GRID)
@ct.kernel
def but_in_a_narrow_band(x, out, scale):
    t = _block(x)
    _put(out, t, scale, (t * t > 50.0) & (t * t < 50.00001))
