"""What combines or moves lanes: reductions, scans, sorts, shapes, gathers, histograms, products."""

import triton
import triton.language as tl


@triton.jit
def whole(x, out, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.sum(a))
    tl.store(out + 1, tl.max(a))
    tl.store(out + 2, tl.min(a))


@triton.jit
def integers_combined(x, out, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.xor_sum(a))
    tl.store(out + 1, tl.reduce_or(a, 0))


@triton.jit
def rows(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(out + i, tl.sum(a, 1))
    tl.store(out + M + j, tl.sum(a, 0))
    tl.store(out + M + N + i, tl.max(a, 1))
    tl.store(out + M + 2 * N + i, tl.min(a, axis=1))
    tl.store(out + 2 * M + 2 * N + i[:, None], tl.sum(a, 1, keep_dims=True))


@triton.jit
def places(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(out + i, tl.argmax(a, 1))
    tl.store(out + M + i, tl.argmin(a, 1))
    tl.store(out + 2 * M + j, tl.argmax(a, 0))
    value, index = tl.max(a, 1, return_indices=True)
    tl.store(out + 2 * M + N + i, index + value.to(tl.int32))
    value, index = tl.min(a, 0, return_indices=True)
    tl.store(out + 3 * M + N + j, index - value.to(tl.int32))


@triton.jit
def _larger_of_squares(a, b):
    return tl.where(a * a > b * b, a, b)


@triton.jit
def _both(a, n, b, m):
    return tl.maximum(a, b), n + m


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def reduced(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(out + i, tl.reduce(a, 1, _larger_of_squares))
    most, count = tl.reduce((a, a // 2), 0, _both)
    tl.store(out + M + j, most)
    tl.store(out + M + N + j, count)
    tl.store(out + M + 2 * N + j, tl.reduce(a, 0, _product))


@triton.jit
def _step(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def scanned(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    at = i[:, None] * N + j[None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.cumsum(a, 1))
    tl.store(out + M * N + at, tl.cumsum(a, 0, reverse=True))
    tl.store(out + 2 * M * N + at, tl.cumprod(a, 1))
    first, second = tl.associative_scan((a, a), 1, _step)
    tl.store(out + 3 * M * N + at, second)
    first, second = tl.associative_scan((a, a), 0, _step, reverse=True)
    tl.store(out + 4 * M * N + at, second)
    tl.store(out + 5 * M * N + at, tl.associative_scan(a, 1, _larger_of_squares, reverse=True))


@triton.jit
def sorted_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    at = i[:, None] * N + j[None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.sort(a))
    tl.store(out + M * N + at, tl.sort(a, descending=True))
    tl.store(out + 2 * M * N + at, tl.flip(a, 1))


@triton.jit
def largest(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(out + i[:, None] * 4 + tl.arange(0, 4)[None, :], tl.topk(a, 4))


@triton.jit
def joined(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    pair = tl.join(a, b)
    tl.store(out + i[:, None] * 2 + tl.arange(0, 2)[None, :], pair)
    first, second = tl.split(pair * 3)
    tl.store(out + 2 * N + i, first - second)
    k = tl.arange(0, 2 * N)
    tl.store(out + 3 * N + k, tl.interleave(a, b))
    tl.store(out + 5 * N + k, tl.cat(a, b, can_reorder=True))
    first, second = tl.split(tl.reshape(a, (N // 2, 2)))
    tl.store(out + 7 * N + tl.arange(0, N // 2), first * 10 + second)


@triton.jit
def shaped(x, out):
    i = tl.arange(0, 2)[:, None, None] * 32 + tl.arange(0, 4)[None, :, None] * 8 + tl.arange(0, 8)[None, None, :]
    a = tl.load(x + i)
    p = tl.permute(a, (1, 2, 0))
    k = tl.arange(0, 4)[:, None, None] * 16 + tl.arange(0, 8)[None, :, None] * 2 + tl.arange(0, 2)[None, None, :]
    tl.store(out + k, p)
    q = tl.permute(a, (2, 0, 1))
    k = tl.arange(0, 8)[:, None, None] * 8 + tl.arange(0, 2)[None, :, None] * 4 + tl.arange(0, 4)[None, None, :]
    tl.store(out + 64 + k, q)
    t = tl.trans(tl.reshape(a, (16, 4)))
    k = tl.arange(0, 4)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + 128 + k, t)
    tl.store(out + 192 + tl.arange(0, 64), tl.ravel(a) * 2)
    w = tl.broadcast_to(tl.sum(a, 1)[:, None, :], (2, 4, 8)) - a
    tl.store(out + 256 + i, w)


@triton.jit
def gathered(x, rows_of, columns_of, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    at = i[:, None] * N + j[None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.gather(a, tl.load(columns_of + at), 1))
    tl.store(out + M * N + at, tl.gather(a, tl.load(rows_of + at), 0))


@triton.jit
def gathered_deep(x, index, out):
    at = tl.arange(0, 2)[:, None, None] * 32 + tl.arange(0, 4)[None, :, None] * 8 + tl.arange(0, 8)[None, None, :]
    a = tl.load(x + at)
    n = tl.load(index + at)
    tl.store(out + at, tl.gather(a, n % 2, 0))
    tl.store(out + 64 + at, tl.gather(a, n % 4, 1))
    tl.store(out + 128 + at, tl.gather(a, n, 2))


@triton.jit
def counted(x, out, n, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + tl.arange(0, BINS), tl.histogram(a, BINS))
    tl.store(out + BINS + tl.arange(0, BINS), tl.histogram(a, BINS, mask=i < n))


@triton.jit
def multiplied(x, y, z, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(x + i[:, None] * K + k[None, :])
    b = tl.load(y + k[:, None] * N + j[None, :])
    at = i[:, None] * N + j[None, :]
    c = tl.load(z + at)
    tl.store(out + at, tl.dot(a, b, c, out_dtype=z.dtype.element_ty))


@triton.jit
def multiplied_plain(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, P: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(x + i[:, None] * K + k[None, :])
    b = tl.load(y + j[:, None] * K + k[None, :])
    tl.store(out + i[:, None] * N + j[None, :], tl.dot(a, tl.trans(b), input_precision=P))


@triton.jit
def multiplied_batches(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    b = tl.arange(0, 2)[:, None, None]
    i = tl.arange(0, M)[None, :, None]
    j = tl.arange(0, N)[None, None, :]
    first = tl.load(x + b * M * K + i * K + tl.arange(0, K)[None, None, :])
    second = tl.load(y + b * K * N + tl.arange(0, K)[None, :, None] * N + j)
    tl.store(out + b * M * N + i * N + j, tl.dot(first, second))


@triton.jit
def _apart(a, b):
    return a + b, a - b


@triton.jit
def mapped(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    first, second = tl.map_elementwise(_apart, tl.load(x + i), tl.load(y + i))
    tl.store(out + i, first)
    tl.store(out + N + i, second)


@triton.jit
def scaled(
    x, y, s, t, out, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr, G: tl.constexpr, MP: tl.constexpr,
    KP: tl.constexpr, KQ: tl.constexpr, NQ: tl.constexpr, LHS: tl.constexpr, RHS: tl.constexpr,
):  # fmt: skip
    """A product of scaled blocks: x is [MP, KP] and y [KQ, NQ] as they lie in memory, G scales stand along K."""
    a = tl.load(x + tl.arange(0, MP)[:, None] * KP + tl.arange(0, KP)[None, :])
    b = tl.load(y + tl.arange(0, KQ)[:, None] * NQ + tl.arange(0, NQ)[None, :])
    left = tl.load(s + tl.arange(0, M)[:, None] * G + tl.arange(0, G)[None, :])
    right = tl.load(t + tl.arange(0, N)[:, None] * G + tl.arange(0, G)[None, :])
    product = tl.dot_scaled(a, left, LHS, b, right, RHS, lhs_k_pack=M == MP, rhs_k_pack=N == NQ)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], product)


@triton.jit
def scaled_once(x, y, s, out, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr, LHS: tl.constexpr, RHS: tl.constexpr):
    """The right operand has no scales; the sum so far does not start at 0."""
    a = tl.load(x + tl.arange(0, M)[:, None] * (K // 2) + tl.arange(0, K // 2)[None, :])
    b = tl.load(y + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    left = tl.load(s + tl.arange(0, M)[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
    so_far = tl.full([M, N], 2.5, tl.float32)
    product = tl.dot_scaled(a, left, LHS, b, None, RHS, so_far)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], product)
