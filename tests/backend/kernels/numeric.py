"""Race-free kernels whose results are compared with NumPy."""

import cuda.tile as ct

ConstInt = ct.Constant[int]


@ct.kernel
def vector_add(x, y, out, t: ConstInt):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (t,)) + ct.load(y, (i,), (t,)))


@ct.kernel
def matmul(a, b, c, tm: ConstInt, tn: ConstInt, tk: ConstInt):
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        left = ct.load(a, (ct.bid(0), k), (tm, tk), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, ct.bid(1)), (tk, tn), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left, right, acc)
    ct.store(c, (ct.bid(0), ct.bid(1)), acc)


@ct.kernel
def softmax(x, out, t: ConstInt):
    row = ct.load(x, (ct.bid(0), 0), (1, t), padding_mode=ct.PaddingMode.NEG_INF)
    weights = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (ct.bid(0), 0), weights / ct.sum(weights, axis=1, keepdims=True))


@ct.kernel
def prefix_sums(x, out, t: ConstInt):
    ct.store(out, (ct.bid(0), 0), ct.cumsum(ct.load(x, (ct.bid(0), 0), (1, t)), axis=1))


@ct.kernel
def gather_rows(x, idx, out, t: ConstInt):
    rows = ct.load(idx, (ct.bid(0),), (t,), padding_mode=ct.PaddingMode.ZERO)
    values = ct.gather(x, (rows,))
    ct.scatter(out, (ct.bid(0) * t + ct.arange(t, dtype=ct.int32),), values)


@ct.kernel
def histogram(x, counts, t: ConstInt):
    values = ct.load(x, (ct.bid(0),), (t,))
    ct.atomic_add(counts, (values,), 1)


@ct.kernel
def collatz(x, out, t: ConstInt):
    """Steps until 1, one number per block: a ``while`` loop with a branch inside."""
    n = ct.load(x, (ct.bid(0),), (1,)).item()
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
            steps = steps + 0
        steps = steps + 1
    ct.store(out, (ct.bid(0),), ct.full((1,), steps, ct.int32))


@ct.kernel
def largest(x, out, t: ConstInt):
    row = ct.load(x, (ct.bid(0), 0), (1, t))
    ct.store(out, (ct.bid(0),), ct.argmax(row, axis=1))
