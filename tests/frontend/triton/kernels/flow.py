"""Loops, branches, functions, and the values that they hand on."""

import triton
import triton.language as tl


@triton.jit
def pointers_in_a_loop(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = x + i
    total = tl.zeros((N,), tl.int32)
    for k in range(n):
        total += tl.load(at) * (k + 1)
        at += N
    tl.store(out + i, total)
    tl.store(out + N + i, tl.load(at - N))


@triton.jit
def pointer_in_a_while(x, out, n):
    at = x
    here = out
    while tl.load(at) != n:
        tl.store(here, tl.load(at) * 2)
        at += 1
        here += 2
    tl.store(here, -1)


@triton.jit
def nested(out, n, m, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.int32)
    for a in range(0, n, 2):
        for b in range(a, m):
            if (a + b) % 3 == 0:
                total += i * a + b
            elif b > 4:
                total -= b
            else:
                total ^= 5
        c = 0
        while c < a:
            total += c
            c += 3
    for a in tl.range(m, 0, -1):
        total = total * 3 + a
    tl.store(out + i, total)


@triton.jit
def branches(x, y, out, n, N: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    if pid % 2 == 0:
        p = x + i
        f = 3
    else:
        p = y + i * 2
        f = 5
    q = x
    if pid > n:
        q = x + 4
    tl.store(out + pid * 2 * N + i, tl.load(p) * f)
    tl.store(out + pid * 2 * N + N + i, tl.load(q + i))


@triton.jit
def early(x, out, n, N: tl.constexpr):
    pid = tl.program_id(0)
    if pid >= n:
        return
    i = tl.arange(0, N)
    a = tl.load(x + pid * N + i)
    if tl.sum(a) < 0:
        tl.store(out + pid * N + i, -a)
        return
    if pid == 1:
        a = a * 7
    tl.store(out + pid * N + i, a)


@triton.jit
def _inlined(a, b):
    c = a * 2
    return c + b, c - b


@triton.jit(noinline=True)
def _called(at, a):
    if tl.load(at) > 3:
        return a + 1
    return a * 2


@triton.jit(noinline=True)
def _stores(at, a):
    tl.store(at, a)


@triton.jit
def functions(x, out, N: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    a = tl.load(x + i)
    s, d = _inlined(a, pid)
    tl.store(out + pid * 4 * N + i, s)
    tl.store(out + pid * 4 * N + N + i, d)
    n = _called(x + pid, pid)
    tl.store(out + pid * 4 * N + 2 * N + i, a + n)
    _stores(out + pid * 4 * N + 3 * N, n)


@triton.jit
def called_in_loops(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    total = n
    for k in range(n):
        total += _called(x + k, k)
    while total > 3:
        total -= _called(x, 1)
    tl.store(out + i, total + i)
    tl.store(x + i, i)


@triton.jit
def unrolled(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    pair = (tl.load(x + i), i)
    for k in tl.static_range(3):
        pair = (pair[0] + pair[1], pair[0] - k)
    tl.store(out + i, pair[0])
    tl.store(out + N + i, pair[1])


@triton.jit
def axes(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    n, m = tl.num_programs(0), tl.num_programs(1)
    at = (z * m + y) * n + x
    tl.store(out + at, x + 10 * y + 100 * z + 1000 * tl.num_programs(2) + n * m)


@triton.jit
def wide_counter(out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.int64)
    for k in range(n, n + 3):
        total += k * i
    tl.store(out + i, total)


@triton.jit
def swapped(x, y, out, n, N: tl.constexpr):
    """Pointers of two arrays change places in a loop."""
    i = tl.arange(0, N)
    p = x + i
    q = y + i
    total = tl.zeros((N,), tl.int32)
    for k in range(n):
        total = total * 2 + tl.load(p)
        p, q = q, p
    tl.store(out + i, total)


@triton.jit
def promises(x, out, n, N: tl.constexpr):
    tl.assume(n > 0)
    i = tl.max_contiguous(tl.multiple_of(tl.program_id(0) * N + tl.arange(0, N), N), N)
    a = tl.load(x + i, mask=i < n, other=-7)
    tl.device_assert(a < 1000, "large")
    tl.debug_barrier()
    tl.store(out + i, a)


@triton.jit
def more_promises(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.multiple_of(i[:, None] * 16 + i[None, :], (1, 8))
    at = tl.max_contiguous(at, (1, 64))
    p = tl.max_contiguous(tl.multiple_of(x + at, (1, 32)), (1, 8))
    a = tl.max_constancy(tl.load(p) // 4, (1, 4))
    n = tl.multiple_of(tl.load(x + 12), 12)
    tl.store(out + i[:, None] * N + i[None, :], a + n)


@triton.jit
def chosen(x, y, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    p = tl.where(i < n, x + i, x + 2 * i)
    tl.store(out + i, tl.load(p))
    q = tl.where(i % 2 == 0, x + i, y + i)
    tl.store(out + N + i, tl.load(q))


@triton.jit
def ended(x, out, n, N: tl.constexpr):
    """A while of two conditions and a value of the last round."""
    i = tl.arange(0, N)
    a = tl.load(x + i)
    rounds = 0
    while (tl.sum(a) > n) & (rounds < 20):
        a = a // 2
        rounds += 1
    tl.store(out + i, a)
    tl.store(out + N, rounds)
