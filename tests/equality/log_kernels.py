"""Kernels with logarithms, written as kernels have them."""

import cuda.tile as ct

import tileverify

ROWS = {"x": "f32[M, N]", "out": "f32[M, N]"}
VECTOR = {"x": "f32[N]", "out": "f32[N]"}
NEG = ct.PaddingMode.NEG_INF


@tileverify.launch(args=ROWS, grid=["M"], requires=["N <= 256"])
@ct.kernel
def log_softmax(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=NEG)
    row = row - ct.max(row, axis=1, keepdims=True)
    ct.store(out, (i, 0), row - ct.log(ct.sum(ct.exp(row), axis=1, keepdims=True)))


@tileverify.launch(args=ROWS, grid=["M"], requires=["N <= 256"])
@ct.kernel
def log_of_softmax(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=NEG)
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (i, 0), ct.log(power / ct.sum(power, axis=1, keepdims=True)))


@tileverify.launch(args=ROWS, grid=["M"], requires=["N <= 256"])
@ct.kernel
def log2_softmax(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=NEG) * 1.4426950408889634
    row = row - ct.max(row, axis=1, keepdims=True)
    ct.store(out, (i, 0), (row - ct.log2(ct.sum(ct.exp2(row), axis=1, keepdims=True))) * 0.6931471805599453)


@tileverify.launch(args=ROWS, grid=["M"], requires=["N <= 256"])
@ct.kernel
def log_softmax_wrong(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=NEG)
    row = row - ct.max(row, axis=1, keepdims=True)
    ct.store(out, (i, 0), row - ct.log(ct.sum(ct.exp(row), axis=1, keepdims=True) + 1e-6))


@tileverify.launch(
    args={"x": "f32[M, N]", "y": "i32[M]", "out": "f32[M]"}, grid=["M"], requires=["N <= 256"], data=["range(y, 0, N)"]
)
@ct.kernel
def cross_entropy(x, y, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=NEG)
    top = ct.max(row, axis=1)
    lse = ct.log(ct.sum(ct.exp(row - ct.reshape(top, (1, 1))), axis=1)) + top
    label = ct.load(y, (i,), (1,))
    hit = ct.gather(x, (i + ct.zeros((1,), ct.int32), label))
    ct.store(out, (i,), lse - hit)


@tileverify.launch(
    args={"x": "f32[M, N]", "y": "i32[M]", "out": "f32[M]"}, grid=["M"], requires=["N <= 256"], data=["range(y, 0, N)"]
)
@ct.kernel
def cross_entropy_smooth(x, y, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=NEG)
    inside = ct.load(x, (i, 0), (1, 256), padding_mode=ct.PaddingMode.ZERO)
    top = ct.max(row, axis=1)
    lse = ct.log(ct.sum(ct.exp(row - ct.reshape(top, (1, 1))), axis=1)) + top
    label = ct.load(y, (i,), (1,))
    hit = ct.gather(x, (i + ct.zeros((1,), ct.int32), label))
    mean = ct.sum(inside, axis=1) / x.shape[1]
    ct.store(out, (i,), 0.9 * (lse - hit) + 0.1 * (lse - mean))


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 128)"])
@ct.kernel
def softplus(x, out):
    t = ct.load(x, (ct.bid(0),), (128,))
    ct.store(out, (ct.bid(0),), ct.log(1 + ct.exp(t)))


@tileverify.launch(args=VECTOR, grid=["cdiv(N, 128)"])
@ct.kernel
def softplus_stable(x, out):
    t = ct.load(x, (ct.bid(0),), (128,))
    ct.store(out, (ct.bid(0),), ct.maximum(t, 0.0) + ct.log(1 + ct.exp(-ct.abs(t))))


@tileverify.launch(args={"p": "f32[M, N]", "q": "f32[M, N]", "out": "f32[M]"}, grid=["M"], requires=["N <= 256"])
@ct.kernel
def kl(p, q, out):
    """The divergence of two rows of scores."""
    i = ct.bid(0)
    a = ct.load(p, (i, 0), (1, 256), padding_mode=NEG)
    b = ct.load(q, (i, 0), (1, 256), padding_mode=NEG)
    a = a - ct.max(a, axis=1, keepdims=True)
    b = b - ct.max(b, axis=1, keepdims=True)
    ea, eb = ct.exp(a), ct.exp(b)
    sa, sb = ct.sum(ea, axis=1, keepdims=True), ct.sum(eb, axis=1, keepdims=True)
    inside = ea > 0
    apart = ct.where(inside, (a - ct.log(sa)) - (b - ct.log(sb)), 0.0)
    ct.store(out, (i,), ct.sum(ea / sa * apart, axis=1))


@tileverify.launch(args={"x": "f32[M, N]", "out": "f32[M]"}, grid=["M"], requires=["N <= 256"])
@ct.kernel
def log_sums(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, (i,), ct.sum(ct.log(row * row + 1), axis=1))


@tileverify.launch(args={"x": "f32[N]", "y": "f32[N]", "out": "f32[N]"}, grid=["cdiv(N, 128)"])
@ct.kernel
def power(x, y, out):
    t = ct.load(x, (ct.bid(0),), (128,))
    ct.store(out, (ct.bid(0),), ct.exp(ct.load(y, (ct.bid(0),), (128,)) * ct.log(t * t)))


@tileverify.launch(args={"x": "f32[M, N]", "out": "f32[M]"}, grid=["M"], requires=["N <= 256"])
@ct.kernel
def log_sums_of_powers(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=ct.PaddingMode.ZERO)
    square = row * row
    large = square * square * square * square
    ct.store(out, (i,), ct.sum(ct.log(large * large * large * large + 1), axis=1))
