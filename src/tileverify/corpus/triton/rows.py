"""Rows of a matrix, one a program: masks, strides of 32 bits, and values of lanes behind the row."""

import triton
import triton.language as tl


@triton.jit
def softmax(out, x, out_stride, x_stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    scores = tl.load(x + row * x_stride + at, mask=at < N, other=-float("inf"))
    weights = tl.exp(scores - tl.max(scores, 0))
    tl.store(out + row * out_stride + at, weights / tl.sum(weights, 0), mask=at < N)


@triton.jit
def softmax_mask_on_rows(out, x, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    scores = tl.load(x + row * N + at, mask=at < M, other=-float("inf"))
    weights = tl.exp(scores - tl.max(scores, 0))
    tl.store(out + row * N + at, weights / tl.sum(weights, 0), mask=at < M)


@triton.jit
def softmax_without_other(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    scores = tl.load(x + row * N + at, mask=at < N)
    weights = tl.exp(scores - tl.max(scores, 0))
    tl.store(out + row * N + at, weights / tl.sum(weights, 0), mask=at < N)


@triton.jit
def softmax_masked_later(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    scores = tl.where(at < N, tl.load(x + row * N + at, mask=at < N), -float("inf"))
    weights = tl.exp(scores - tl.max(scores, 0))
    tl.store(out + row * N + at, weights / tl.sum(weights, 0), mask=at < N)


@triton.jit
def clamp_rows(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * N + at, tl.maximum(tl.load(x + row * N + at, mask=at < N), 0.0), mask=at < N)


@triton.jit
def clamp_rows_in_64_bits(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * N + at, tl.maximum(tl.load(x + row * N + at, mask=at < N), 0.0), mask=at < N)


@triton.jit
def layer_norm(out, x, weight, bias, mean, rstd, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * N + at, mask=at < N, other=0.0)
    average = tl.sum(total, 0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.where(at < N, tl.load(x + row * N + at, mask=at < N, other=0.0) - average, 0.0)
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / N + eps)
    tl.store(mean + row, average)
    tl.store(rstd + row, scale)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < N
        value = (tl.load(x + row * N + at, mask=inside) - average) * scale
        value = value * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
        tl.store(out + row * N + at, value, mask=inside)


@triton.jit
def layer_norm_last_pass_unmasked(out, x, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * N + at, mask=at < N, other=0.0)
    average = tl.sum(total, 0) / N
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + row * N + at, tl.load(x + row * N + at, mask=at < N) - average)


@triton.jit
def weight_gradient(gradient, dy, x, rstd, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([ROWS, BLOCK], dtype=tl.float32)
    for first in range(0, M, ROWS):
        rows = first + tl.arange(0, ROWS)
        inside = (rows[:, None] < M) & (at[None, :] < N)
        place = rows[:, None].to(tl.int64) * N + at[None, :]
        scale = tl.load(rstd + rows, mask=rows < M, other=0.0)
        total += (
            tl.load(dy + place, mask=inside, other=0.0) * tl.load(x + place, mask=inside, other=0.0) * scale[:, None]
        )
    tl.store(gradient + at, tl.sum(total, 0), mask=at < N)


@triton.jit
def weight_gradient_by_rows(gradient, dy, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    part = tl.load(dy + row * N + at, mask=at < N) * tl.load(x + row * N + at, mask=at < N)
    before = tl.load(gradient + at, mask=at < N)
    tl.store(gradient + at, before + part, mask=at < N)


@triton.jit
def weight_gradient_by_atomics(gradient, dy, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    part = tl.load(dy + row * N + at, mask=at < N) * tl.load(x + row * N + at, mask=at < N)
    tl.atomic_add(gradient + at, part, mask=at < N)


@triton.jit
def cross_entropy(loss, scores, target, V, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    wanted = tl.load(target + row)
    if wanted == ignored:
        for start in range(0, V, BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(scores + row * V + at, 0.0, mask=at < V)
        tl.store(loss + row, 0.0)
        return
    own = tl.load(scores + row * V + wanted)
    largest = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(scores + row * V + at, mask=at < V, other=-float("inf"))
        higher = tl.maximum(largest, tl.max(value, 0))
        total = total * tl.exp(largest - higher) + tl.sum(tl.exp(value - higher), 0)
        largest = higher
    tl.debug_barrier()
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(scores + row * V + at, mask=at < V, other=-float("inf"))
        gradient = tl.exp(value - largest) / total - tl.where(at == wanted, 1.0, 0.0)
        tl.store(scores + row * V + at, gradient, mask=at < V)
    tl.store(loss + row, largest + tl.log(total) - own)
