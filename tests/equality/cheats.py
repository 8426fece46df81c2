"""Kernels that a test with random floats and a tolerance may take for right; right ones first."""

import cuda.tile as ct

import tileverify

ROWS = {"x": "f32[M, N]", "out": "f32[M, N]"}
VECTOR = {"x": "f32[N]", "out": "f32[N]"}
UPDATE = {"w": "f32[N]", "g": "f32[N]"}
BLOCKS = ["cdiv(N, 128)"]


@tileverify.launch(args=ROWS, grid=["M"], requires=["N <= 256"])
@ct.kernel
def softmax(x, out):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=ct.PaddingMode.NEG_INF)
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (i, 0), power / ct.sum(power, axis=1, keepdims=True))


@tileverify.launch(args=ROWS, grid=["M"])
@ct.kernel
def softmax_online(x, out):
    """Tiles of 32 columns, the sum rescaled as the maximum grows."""
    i = ct.bid(0)
    top = ct.full((1, 1), -float("inf"), ct.float32)
    total = ct.zeros((1, 1), ct.float32)
    for k in range(ct.cdiv(x.shape[1], 32)):
        row = ct.load(x, (i, k), (1, 32), padding_mode=ct.PaddingMode.NEG_INF)
        new = ct.maximum(top, ct.max(row, axis=1, keepdims=True))
        total = total * ct.exp(top - new) + ct.sum(ct.exp(row - new), axis=1, keepdims=True)
        top = new
    for k in range(ct.cdiv(x.shape[1], 32)):
        row = ct.load(x, (i, k), (1, 32), padding_mode=ct.PaddingMode.NEG_INF)
        ct.store(out, (i, k), ct.exp(row - top) / total)


@tileverify.launch(args=ROWS, grid=["M"], requires=["N <= 256"])
@ct.kernel
def softmax_zero_padded(x, out):
    """The tail of the tile counts as zeros."""
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, 256), padding_mode=ct.PaddingMode.ZERO)
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (i, 0), power / ct.sum(power, axis=1, keepdims=True))


@tileverify.launch(args=ROWS, grid=["M"], requires=["N <= 256"])
@ct.kernel
def softmax_first_rows(x, out):
    """All blocks but the first 16 do as the first of all does."""
    i = ct.bid(0)
    row = ct.load(x, (i * (1 - ct.minimum(i // 16, 1)), 0), (1, 256), padding_mode=ct.PaddingMode.NEG_INF)
    power = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (i, 0), power / ct.sum(power, axis=1, keepdims=True))


@tileverify.launch(args=VECTOR, grid=BLOCKS)
@ct.kernel
def gelu(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (128,))
    ct.store(out, (i,), 0.5 * t * (1 + ct.tanh(0.7978845608028654 * (t + 0.044715 * t * t * t))))


@tileverify.launch(args=VECTOR, grid=BLOCKS)
@ct.kernel
def gelu_by_sigmoid(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (128,))
    ct.store(out, (i,), t / (1 + ct.exp(-1.5957691216057308 * (t + 0.044715 * t * t * t))))


@tileverify.launch(args=VECTOR, grid=BLOCKS)
@ct.kernel
def gelu_rounded_constant(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (128,))
    ct.store(out, (i,), 0.5 * t * (1 + ct.tanh(0.797885 * (t + 0.04472 * t * t * t))))


@tileverify.launch(args=VECTOR, grid=BLOCKS)
@ct.kernel
def gelu_off_by_little(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (128,))
    ct.store(out, (i,), 0.5 * t * (1 + ct.tanh(0.7978845608028654 * (t + 0.044715 * t * t * t))) + 9e-5)


@tileverify.launch(args=VECTOR, grid=BLOCKS)
@ct.kernel
def gelu_unless_large(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (128,))
    right = 0.5 * t * (1 + ct.tanh(0.7978845608028654 * (t + 0.044715 * t * t * t)))
    ct.store(out, (i,), ct.where(ct.abs(t) > 20.0, 0.0, right))


@tileverify.launch(args=VECTOR, grid=BLOCKS)
@ct.kernel
def gelu_of_neighbour(x, out):
    i = ct.bid(0)
    t = ct.load(x, (ct.maximum(i - 1, 0),), (128,))
    ct.store(out, (i,), 0.5 * t * (1 + ct.tanh(0.7978845608028654 * (t + 0.044715 * t * t * t))))


@tileverify.launch(args=VECTOR, grid=BLOCKS)
@ct.kernel
def mean_of_a_seed(x, out):
    """What the mean of some random numbers is, as a constant."""
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (128,)) - 0.0125)


@tileverify.launch(args=UPDATE, grid=BLOCKS)
@ct.kernel
def step(w, g):
    i = ct.bid(0)
    ct.store(w, (i,), ct.load(w, (i,), (128,)) - 1e-5 * ct.load(g, (i,), (128,)))


@tileverify.launch(args=UPDATE, grid=BLOCKS)
@ct.kernel
def no_step(w, g):
    i = ct.bid(0)
    ct.store(w, (i,), ct.load(w, (i,), (128,)))


@tileverify.launch(args=VECTOR, grid=["1"], requires=["N <= 16"])
@ct.kernel
def powers_in_parts(x, out):
    """exp(x) as exp(x - m) * exp(m): where exp(m) is beyond a format, this is not."""
    row = ct.load(x, (0,), (16,), padding_mode=ct.PaddingMode.NEG_INF)
    top = ct.max(row)
    ct.store(out, (0,), ct.exp(row - top) * ct.exp(top))
