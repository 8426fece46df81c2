"""A kernel whose references ask what their arguments are."""

import cuda.tile as ct

import tileverify


@tileverify.launch(args={"x": "f32[N]", "out": "f32[N]", "scale": "f32"}, grid=["cdiv(N, 16)"])
@ct.kernel
def scaled(x, out, scale):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (16,)) * scale)


@tileverify.launch(args={"x": "f16[N]", "out": "f16[N]", "scale": "f32"}, grid=["cdiv(N, 16)"])
@ct.kernel
def scaled_halves(x, out, scale):
    i = ct.bid(0)
    ct.store(out, (i,), ct.astype(ct.load(x, (i,), (16,)) * scale, ct.float16))
