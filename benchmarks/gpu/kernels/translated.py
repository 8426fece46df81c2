import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    tl.store(out + at, tl.load(x + at, mask=live) + tl.load(y + at, mask=live), mask=live)


@triton.jit
def softmax(out, x, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * N + at, e / tl.sum(e, 0), mask=at < N)


@triton.jit
def layer_norm(out, x, w, b, M, N, eps: tl.float32, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * N + at, mask=at < N, other=0.0)
    mean = tl.sum(total, 0) / N
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.where(at < N, tl.load(x + row * N + at, mask=at < N, other=0.0) - mean, 0.0)
        square += v * v
    scale = 1 / tl.sqrt(tl.sum(square, 0) / N + eps)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        live = at < N
        v = (tl.load(x + row * N + at, mask=live, other=0.0) - mean) * scale
        v = v * tl.load(w + at, mask=live, other=0.0) + tl.load(b + at, mask=live, other=0.0)
        tl.store(out + row * N + at, v, mask=live)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    rows = tl.cdiv(M, BM)
    columns = tl.cdiv(N, BN)
    group = pid // (GROUP * columns)
    first = group * GROUP
    size = min(rows - first, GROUP)
    pm = first + (pid % (GROUP * columns)) % size
    pn = (pid % (GROUP * columns)) // size
    m = (pm * BM + tl.arange(0, BM)).to(tl.int64)
    n = (pn * BN + tl.arange(0, BN)).to(tl.int64)
    k = tl.arange(0, BK)
    pa = a + m[:, None] * K + k[None, :]
    pb = b + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(K, BK)):
        left = K - step * BK
        x = tl.load(pa, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        y = tl.load(pb, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK
        pb += BK * N
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def cumsum(out, x, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + at, mask=at < N, other=0.0)
    tl.store(out + row * N + at, tl.cumsum(v, 0), mask=at < N)


@triton.jit
def argmax(out, x, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
    tl.store(out + row, tl.argmax(v, 0))


@triton.jit
def histogram(bins, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + (v & 63), 1, mask=at < n, sem="relaxed")


@triton.jit
def transpose(out, x, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    live = (m[:, None] < M) & (n[None, :] < N)
    v = tl.load(x + m[:, None].to(tl.int64) * N + n[None, :], mask=live)
    tl.store(out + n[:, None].to(tl.int64) * M + m[None, :], tl.trans(v), mask=tl.trans(live))


@triton.jit
def descriptor_copy(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    target.store(at, source.load(at) * 2)


@triton.jit
def sorted_rows(out, x, M, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * BLOCK + at, tl.sort(tl.load(x + row * BLOCK + at)))


@triton.jit
def inplace_scale(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n)
    if tl.program_id(0) >= 0:
        v = tl.where(v > 0, v * 2, -v)
    tl.store(x + at, v, mask=at < n)


@triton.jit
def random_bits(out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randint(seed, at), mask=at < n)
