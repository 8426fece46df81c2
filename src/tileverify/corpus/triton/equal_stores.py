"""Programs store the same values in one place, which a launch may allow; and the same kernel with one mistake."""

import triton
import triton.language as tl


@triton.jit
def relu_in_each_row(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, tl.maximum(value, 0.0), mask=at < n)


@triton.jit
def relu_of_own_row(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(1) * n + at, mask=at < n, other=0.0)
    tl.store(out + at, tl.maximum(value, 0.0), mask=at < n)


@triton.jit
def copy_shifted_tail(x, out, n: tl.constexpr, BLOCK: tl.constexpr):
    at = min(tl.program_id(0) * BLOCK, n - BLOCK) + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))


@triton.jit
def copy_shifted_reads(x, out, n: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * BLOCK + lane, mask=tl.program_id(0) * BLOCK + lane < n, other=0.0)
    tl.store(out + min(tl.program_id(0) * BLOCK, n - BLOCK) + lane, value)
