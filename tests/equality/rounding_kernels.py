"""Sums of rows, each equal to `row_sums` over the real numbers, in formats of their own."""

import cuda.tile as ct

import tileverify

HALVES = {"x": "f16[M, N]", "out": "f16[M]"}
WIDE = {"x": "f16[M, N]", "out": "f32[M]"}


@tileverify.launch(args=HALVES, grid=["M"])
@ct.kernel
def in_f16(x, out):
    i = ct.bid(0)
    total = ct.zeros((1,), ct.float16)
    for k in range(ct.cdiv(x.shape[1], 32)):
        row = ct.load(x, (i, k), (1, 32), padding_mode=ct.PaddingMode.ZERO)
        if k >= 0:
            total = total + ct.astype(ct.sum(ct.astype(row, ct.float32), axis=1), ct.float16)
    ct.store(out, (i,), total)


@tileverify.launch(args=HALVES, grid=["M"])
@ct.kernel
def in_f32(x, out):
    i = ct.bid(0)
    total = ct.zeros((1,), ct.float32)
    for k in range(ct.cdiv(x.shape[1], 32)):
        row = ct.load(x, (i, k), (1, 32), padding_mode=ct.PaddingMode.ZERO)
        total = total + ct.sum(ct.astype(row, ct.float32), axis=1)
    ct.store(out, (i,), ct.astype(total, ct.float16))


@tileverify.launch(args=HALVES, grid=["M"], requires=["N <= 64"])
@ct.kernel
def at_once(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 64), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (i,), ct.sum(row, axis=1))


@tileverify.launch(args=WIDE, grid=["M"])
@ct.kernel
def squares(x, out):
    """The loop hands on what nothing was added to in f16: a product with itself."""
    i = ct.bid(0)
    kept = ct.full((1,), 1.0, ct.float16)
    total = ct.zeros((1,), ct.float32)
    for k in range(ct.cdiv(x.shape[1], 32)):
        row = ct.load(x, (i, k), (1, 32), padding_mode=ct.PaddingMode.ZERO)
        total = total + ct.sum(ct.astype(row, ct.float32), axis=1) * ct.astype(kept, ct.float32)
        kept = kept * kept
    ct.store(out, (i,), total)
