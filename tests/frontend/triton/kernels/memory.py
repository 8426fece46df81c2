"""Accesses: masks, strides, wide addresses, in-place updates, atomics, tensor descriptors."""

import triton
import triton.language as tl


@triton.jit
def masked(x, y, out, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + i, mask=i < n, other=0)
    b = tl.load(y + i, mask=i % 3 != 1, other=9)
    c = tl.load(y + i, mask=i < n)
    tl.store(out + i, a + b)
    tl.store(out + 2 * N + i, a * b, mask=(i < n) & (i > 2))
    tl.store(out + 4 * N + i, c, mask=i < n)


@triton.jit
def wide(x, out, stride, N: tl.constexpr):
    """Sums of offsets that leave 32 bits, and come back."""
    i = tl.arange(0, N)
    at = x + stride.to(tl.int64) * 4
    at = at + (i - stride)
    at = at - stride
    at = at - stride
    at = at - stride
    tl.store(out + i, tl.load(at))
    u = i.to(tl.uint32) + 2
    tl.store(out + N + i, tl.load(x + u))
    b = i.to(tl.uint8)
    tl.store(out + 2 * N + i, tl.load(x + (b - 3 + 3)))
    tl.store(out + 3 * N + i, tl.load(x + 100 + (i + 100).to(tl.int8)))


@triton.jit
def negative(x, out, N: tl.constexpr):
    """Negative offsets of each width."""
    i = tl.arange(0, N)
    at = x + N
    tl.store(out + i, tl.load(at + (-1 - i)))
    tl.store(out + N + i, tl.load(at + (-1 - i).to(tl.int64)))
    tl.store(out + 2 * N + i, tl.load(at + (-1 - i).to(tl.int8)))
    tl.store(out + 3 * N + i, tl.load(at - (1 + i).to(tl.int16)))


@triton.jit
def in_place(x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(x + i, a + 1)
    for k in range(n):
        b = tl.load(x + (N - 1) - i)
        tl.store(x + i, b * 2 + k)
        if k == 1:
            tl.store(x, 77)
    c = tl.load(x + (i ^ 1))
    tl.store(x + i, c - 1)


@triton.jit
def retyped(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    p = x.to(tl.pointer_type(tl.int8))
    tl.store(out + i, tl.load(p + i * 4).to(tl.int32))
    q = (x + i).to(tl.pointer_type(tl.int16))
    tl.store(out + N + i, tl.load(q + 1).to(tl.int32))
    r = (p + 8).to(tl.pointer_type(tl.int32))
    tl.store(out + 2 * N + i, tl.load(r + i))


@triton.jit
def pointer_numbers(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    n = (x + i).to(tl.int64) - x.to(tl.int64)
    tl.store(out + i, n)


@triton.jit
def atomics(x, v, old, n, N: tl.constexpr):
    i = tl.arange(0, N)
    m = i < n
    a = tl.load(v + i)
    tl.store(old + i, tl.atomic_add(x + i, a, mask=m), mask=m)
    tl.store(old + N + i, tl.atomic_max(x + N + i, a, mask=m, sem="relaxed"), mask=m)
    tl.store(old + 2 * N + i, tl.atomic_min(x + 2 * N + i, a, sem="acquire", scope="sys"))
    tl.store(old + 3 * N + i, tl.atomic_and(x + 3 * N + i, a, sem="release", scope="cta"))
    tl.store(old + 4 * N + i, tl.atomic_or(x + 4 * N + i, a, mask=i > 2), mask=i > 2)
    tl.store(old + 5 * N + i, tl.atomic_xor(x + 5 * N + i, a))
    tl.store(old + 6 * N + i, tl.atomic_xchg(x + 6 * N + i, a))
    tl.store(old + 7 * N + i, tl.atomic_cas(x + 7 * N + i, a, a + 1))


@triton.jit
def flagged(x, flag, N: tl.constexpr):
    """One program tells the next by a flag."""
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    while tl.atomic_load(flag) < pid:
        pass
    a = tl.load(x + i, mask=i < 5, other=2)
    tl.store(x + i, a * 2 + pid)
    b = tl.atomic_load(x + N + i, mask=i < pid + 1, sem="relaxed", scope="sys")
    tl.atomic_store(x + N + i, b + 1, mask=i < pid + 1, sem="relaxed", scope="cta")
    tl.atomic_store(flag, pid + 1)


@triton.jit
def swaps(x, v, old, N: tl.constexpr):
    """Compare-and-swap; half of the lanes of ``v`` are what ``x`` holds."""
    i = tl.arange(0, N)
    a = tl.load(v + i)
    tl.store(old + i, tl.atomic_cas(x + i, a, a + 1, sem="relaxed"))
    tl.store(old + N, tl.atomic_cas(x + N, tl.load(v), tl.load(v + 1), scope="sys"))


@triton.jit
def small_atomics(x, old, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(old + i, tl.atomic_load(x + i, mask=i > 1), mask=i > 1)
    tl.debug_barrier()
    tl.atomic_store(x + i, tl.load(old + i) + 1, mask=i > 3)


@triton.jit
def polls(x, out, N: tl.constexpr):
    """Every number is there from the beginning, so that each poll ends, and no time is ever up."""
    i = tl.arange(0, N)
    tl.store(out + i, tl.atomic_poll(x + i, tl.load(x + N + i)))
    tl.store(out + N + i, tl.atomic_poll(x + i, tl.load(x + N + i), sem="relaxed", scope="sys", timeout_ns=1000))
    tl.store(out + 2 * N, tl.atomic_poll(x, tl.load(x + N)))
    tl.store(out + 2 * N + 1, tl.atomic_poll(x + 1, tl.load(x + N + 1), timeout_ns=5))


@triton.jit
def polled(flag, x, N: tl.constexpr):
    """Each program waits for the one before it, and doubles what that one left."""
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    tl.atomic_poll(flag, pid.to(flag.dtype.element_ty))
    tl.atomic_poll(x + N + i, tl.full([N], 0, x.dtype.element_ty) + pid)
    a = tl.load(x + i)
    tl.debug_barrier()
    tl.store(x + i, 2 * a + pid)
    tl.store(x + N + i, tl.full([N], 0, x.dtype.element_ty) + pid + 1)
    tl.debug_barrier()
    tl.atomic_store(flag, (pid + 1).to(flag.dtype.element_ty))


@triton.jit
def float_atomics(x, v, old, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(v + i)
    tl.store(old + i, tl.atomic_add(x + i, a))
    tl.store(old + N + i, tl.atomic_xchg(x + N + i, a))


@triton.jit
def float_extremes(x, v, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(v + i)
    tl.atomic_max(x + i, a)
    tl.atomic_min(x + N + i, a)


@triton.jit
def added(x, v, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(x + i // 4, tl.load(v + i))


@triton.jit
def counter(x, ticket):
    """Every program takes a number, one after the other."""
    n = tl.atomic_add(ticket, 1)
    tl.store(x + n, n * n)
    while tl.atomic_cas(ticket + 1, 0, 1) == 1:
        pass
    tl.store(x + 8, tl.load(x + 8) + 3)
    tl.debug_barrier()
    tl.atomic_xchg(ticket + 1, 0)


@triton.jit
def descriptors(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    target = tl.make_tensor_descriptor(out, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    for row in range(0, M, BM):
        for column in range(0, N, BN):
            a = source.load([row, column])
            target.store([row, column], a * 2 + tl.sum(a, 1)[:, None])


@triton.jit
def outside(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Blocks that begin before the array, or end behind it."""
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(out + i, source.load([-1, -4]))
    tl.store(out + BM * BN + i, source.load([M - 1, N - 4]))
    tl.store(out + 2 * BM * BN + i, source.load([M + 5, 0]))


@triton.jit
def padded(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """NaN outside of the array."""
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN], padding_option="nan")
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(out + i, source.load([M - 2, N - 4]))


@triton.jit
def atomic_descriptors(x, v, M, N, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    a = tl.load(v + i)
    target.atomic_add([1, 0], a)
    target.atomic_max([0, 4], a)
    target.atomic_min([2, 4], a)


@triton.jit
def bit_descriptors(x, v, M, N, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    a = tl.load(v + i)
    target.atomic_and([0, 0], a)
    target.atomic_or([1, 4], a)
    target.atomic_xor([2, 2], a)


@triton.jit
def descriptor_rows(x, index, out, M, N, B: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[1, BN])
    target = tl.make_tensor_descriptor(out, shape=[M, N], strides=[N, 1], block_shape=[1, BN])
    rows = tl.load(index + tl.arange(0, B))
    a = source.gather(rows, 4)
    target.scatter(a + 1, (rows + 1) % 16, 8)


@triton.jit
def deep_descriptor(x, out, A, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[A, M, N], strides=[M * N, N, 1], block_shape=[1, BM, BN])
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    for a in range(A):
        tl.store(out + a * BM * BN + i, source.load([a, 1, 0]).reshape(BM, BN))


@triton.jit
def _first_rows(x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    return tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])


@triton.jit
def handed_descriptors(x, y, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Loops, branches, selections and functions hand descriptors on: of another array, another place, another size."""
    i = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    plain = _first_rows(x, M, N, BM, BN)
    short = _first_rows(x, M - 1, N, BM, BN)
    other = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN], padding_option="nan")
    current = plain
    for k in range(4):
        tl.store(out + k * BM * BN + i, current.load([M - 2, N - 4]))
        if k == 0:
            current = short
        elif k == 1:
            current = other
        else:
            current = tl.make_tensor_descriptor(x + N, [M - 1, N], [N, 1], [BM, BN])
    if M > 100:  # noqa: SIM108 - Triton chooses no descriptor in an expression
        chosen = short
    else:
        chosen = other
    tl.store(out + 4 * BM * BN + i, chosen.load([M - 1, N - 4]))
    k = 0
    while k < 2:
        tl.store(out + (5 + k) * BM * BN + i, chosen.load([0, 4 * k]))
        chosen = tl.make_tensor_descriptor(y + N, [M - 2, N], [N, 1], [BM, BN])
        k += 1


@triton.jit
def flags(x, out, N: tl.constexpr):
    """Arrays of bool."""
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, a == (i % 3 == 0))


@triton.jit
def picked(x, y, c):
    if c > 1:
        return x
    return y


@triton.jit
def chosen_pointers(x, y, z, n, N: tl.constexpr):
    """Pointers into one of several arrays: by a branch, a selection, lane by lane, from round to round of a loop."""
    pid = tl.program_id(0)
    i = tl.arange(0, N)
    if pid == 0:
        place = x
    elif pid == 1:
        place = y + 1
    else:
        place = z
    a = tl.load(place + i, mask=i < n, other=7)
    tl.debug_barrier()
    tl.store(place + i, a * 2 + pid, mask=i < n)
    tl.debug_barrier()
    lanes = tl.where(i % 2 == 0, x + N + pid * N + i, y + N + 1 + pid * N + i)
    b = tl.load(lanes)
    tl.debug_barrier()
    tl.store(tl.where(i % 2 == 0, lanes, z + N + pid * N + i), b + 1)
    tl.atomic_add(tl.where(pid > 0, z, y) + 4 * N + pid, 5)
    old = tl.atomic_cas(tl.where(pid > 0, x, z) + 4 * N + pid, 0, 9)
    tl.debug_barrier()
    here, there = x + 5 * N + pid * N, y + 5 * N + 1 + pid * N
    for k in range(n):
        v = tl.load(here + k)
        tl.debug_barrier()
        tl.store(there + k, v + old)
        tl.debug_barrier()
        here, there = there, here
    tl.store(picked(z, y, pid) + 6 * N + pid, tl.load(picked(x, z, pid + 1) + 7 * N))
