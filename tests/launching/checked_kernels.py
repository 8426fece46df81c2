"""Kernels that `tileverify.check` is asked about."""

from __future__ import annotations

import cuda.tile as ct

import tileverify

ARGS = {"x": "f32[N]", "out": "f32[N]"}
COVER = ["cdiv(N, 128)"]


@ct.kernel
def double(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (128,)) * 2)


@tileverify.launch(args=ARGS, grid=COVER, name="any-size")
@tileverify.launch(args=ARGS, grid=["cdiv(N, 128)", 2], name="twice")
@ct.kernel
def described(x, out):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (128,)) * 2)


@ct.kernel
def move(x, places, out):
    place = ct.load(places, (ct.bid(0),), (1,)).item()
    ct.store(out, (place,), ct.load(x, (ct.bid(0),), (128,)))
