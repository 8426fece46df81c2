"""Scalars: thread 0 of a program stores them, in the order of the program; each thread loads them for itself."""

import triton
import triton.language as tl


@triton.jit
def sum_with_status(status, out, x, BLOCK: tl.constexpr):
    """1 in the status of a program says that it has begun, 2 that its sum is there."""
    pid = tl.program_id(0)
    tl.store(status + pid, 1)
    total = tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)))
    tl.store(out + pid, total)
    tl.store(status + pid, 2)


@triton.jit
def sum_with_shared_status(status, out, x, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(status, 1)
    total = tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)))
    tl.store(out + pid, total)
    tl.store(status, 2)


@triton.jit
def status_by_tile(status, out, BLOCK: tl.constexpr):
    """The first status is stored as a tile: which thread stores which lane, Triton chooses."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(status + at, 1)
    tl.store(status + tl.program_id(0) * BLOCK, 2)


@triton.jit
def progress(status, n):
    """How far the program is, and at last 0."""
    here = status + tl.program_id(0)
    for step in range(n):
        tl.store(here, step)
    tl.store(here, 0)


@triton.jit
def progress_of_product(status, out, x, n, BLOCK: tl.constexpr):
    """Triton loads some rounds ahead, and so it does what decides where to load, the first store among it."""
    lane = tl.arange(0, BLOCK)
    tile = lane[:, None] * BLOCK + lane[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    start = 0
    for step in range(n):
        if step % 2 == 0:
            tl.store(status, step)
            start = BLOCK * BLOCK
        total = tl.dot(tl.load(x + start + tile), tl.load(x + tile), total)
        tl.store(status, -1)
    tl.store(out + tile, total)


@triton.jit
def count_up(counter):
    """What the other threads load, they tell nobody."""
    tl.store(counter, tl.load(counter) + 1)


@triton.jit
def count_and_tell(counter, out, BLOCK: tl.constexpr):
    """A thread that loads behind the store of thread 0 tells another number than the rest."""
    before = tl.load(counter)
    tl.store(counter, before + 1)
    tl.store(out + tl.arange(0, BLOCK), before + tl.arange(0, BLOCK))


@triton.jit
def count_behind_barrier(counter, out, BLOCK: tl.constexpr):
    before = tl.load(counter)
    tl.debug_barrier()
    tl.store(counter, before + 1)
    tl.store(out + tl.arange(0, BLOCK), before + tl.arange(0, BLOCK))


@triton.jit
def count_rows_and_tell(counters, out, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Fewer counters than threads: each warp loads those of its rows, beside the lanes that are stored."""
    row, at = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    before = tl.load(counters + row)
    tl.store(counters + row, before + 1)
    tl.store(out + row[:, None] * BLOCK + at[None, :], before[:, None] + at[None, :])


@triton.jit
def subtract_mean_late(x, out, BLOCK: tl.constexpr):
    """Both warps that load a lane hand their sum to the others, and one of them may load behind the store."""
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(x + at, value + 1.0)
    tl.store(out + at, value - tl.sum(value) / BLOCK)
