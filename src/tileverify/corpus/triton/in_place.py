"""Accesses of one program to the same elements: what a barrier, an atomic or data orders, and what nothing does."""

import triton
import triton.language as tl


@triton.jit
def relu_in_place(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(x + at, tl.maximum(value, 0.0), mask=at < n)


@triton.jit
def reverse_in_place(x, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    back = tl.program_id(0) * BLOCK + BLOCK - 1 - tl.arange(0, BLOCK)
    tl.store(x + back, tl.load(x + at))


@triton.jit
def reverse_behind_barrier(x, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    back = tl.program_id(0) * BLOCK + BLOCK - 1 - tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.debug_barrier()
    tl.store(x + back, value)


@triton.jit
def exchange_neighbours(x, scratch, BLOCK: tl.constexpr):
    """Lanes read what other lanes stored, without a barrier."""
    lane = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + lane
    tl.store(scratch + at, tl.load(x + at) * 2)
    tl.store(x + at, tl.load(scratch + tl.program_id(0) * BLOCK + (lane ^ 1)))


@triton.jit
def exchange_behind_barrier(x, scratch, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + lane
    tl.store(scratch + at, tl.load(x + at) * 2)
    tl.debug_barrier()
    tl.store(x + at, tl.load(scratch + tl.program_id(0) * BLOCK + (lane ^ 1)))


@triton.jit
def shift_of_neighbour(x, n, BLOCK: tl.constexpr):
    """Each block also reads the first element of the next one, which that block overwrites."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at + 1, mask=at + 1 < n, other=0.0)
    tl.debug_barrier()
    tl.store(x + at, value, mask=at < n)


@triton.jit
def shift_out_of_place(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at + 1, mask=at + 1 < n, other=0.0)
    tl.store(out + at, value, mask=at < n)


@triton.jit
def transpose_square(x, N, BLOCK: tl.constexpr):
    """Blocks above the diagonal change places with those below; all are done twice."""
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    rows, columns = i + tl.arange(0, BLOCK)[:, None], j + tl.arange(0, BLOCK)[None, :]
    inside = (rows < N) & (columns < N)
    value = tl.load(x + rows * N + columns, mask=inside)
    tl.store(x + columns * N + rows, value, mask=inside)


@triton.jit
def transpose(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    columns = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (rows < M) & (columns < N)
    value = tl.load(x + rows.to(tl.int64) * N + columns, mask=inside)
    tl.store(out + columns.to(tl.int64) * M + rows, value, mask=inside)


@triton.jit
def transpose_wrong_stride(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    columns = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (rows < M) & (columns < N)
    value = tl.load(x + rows.to(tl.int64) * N + columns, mask=inside)
    tl.store(out + columns.to(tl.int64) * N + rows, value, mask=inside)


@triton.jit
def rotate(q, cosines, sines, HEADS, D: tl.constexpr):
    """Rotary embedding in place: both halves of a head are read before either is written."""
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    lane = tl.arange(0, D // 2)
    low = q + (token * HEADS + head) * D + lane
    high = low + D // 2
    first, second = tl.load(low), tl.load(high)
    cosine, sine = tl.load(cosines + token * (D // 2) + lane), tl.load(sines + token * (D // 2) + lane)
    tl.store(low, first * cosine - second * sine)
    tl.store(high, second * cosine + first * sine)


@triton.jit
def rotate_interleaved_wrongly(q, cosines, sines, HEADS, D: tl.constexpr):
    """The second half begins one element too early, so both stores meet."""
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    lane = tl.arange(0, D // 2)
    low = q + (token * HEADS + head) * D + lane
    high = low + D // 2 - 1
    first, second = tl.load(low), tl.load(high)
    cosine, sine = tl.load(cosines + token * (D // 2) + lane), tl.load(sines + token * (D // 2) + lane)
    tl.debug_barrier()
    tl.store(low, first * cosine - second * sine)
    tl.store(high, second * cosine + first * sine)


@triton.jit
def powers_behind_atomics(x, turns, n, BLOCK: tl.constexpr):
    """Each round multiplies what the round before it has stored.  Triton loads rounds ahead, past the atomic."""
    lane = tl.arange(0, BLOCK)
    tile = x + lane[:, None] * BLOCK + lane[None, :]
    for step in range(n):
        value = tl.load(tile + step * BLOCK * BLOCK)
        tl.store(tile + (step + 1) * BLOCK * BLOCK, tl.dot(value, value).to(tl.float16))
        tl.atomic_add(turns, 1)


@triton.jit
def powers_behind_barriers(x, n, BLOCK: tl.constexpr):
    """Triton pipelines no loop that holds a barrier."""
    lane = tl.arange(0, BLOCK)
    tile = x + lane[:, None] * BLOCK + lane[None, :]
    for step in range(n):
        value = tl.load(tile + step * BLOCK * BLOCK)
        tl.store(tile + (step + 1) * BLOCK * BLOCK, tl.dot(value, value).to(tl.float16))
        tl.debug_barrier()
