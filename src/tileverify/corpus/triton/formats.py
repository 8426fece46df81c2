"""Quantised weights, eight-bit floats, scaled products, sorting, random numbers, convolution."""

import triton
import triton.language as tl


@triton.jit
def dequantised_product(
    out, x, packed, scales, zeros, M, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Eight weights of four bits in each i32 along K; a scale and a zero for each group of rows."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(
            x + rows[:, None].to(tl.int64) * K + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        inside = (inner[:, None] < K) & (columns[None, :] < N)
        word = tl.load(packed + (inner[:, None] // 8).to(tl.int64) * N + columns[None, :], mask=inside, other=0)
        group = (inner[:, None] // GROUP).to(tl.int64) * N + columns[None, :]
        scale = tl.load(scales + group, mask=inside, other=0.0)
        zero = tl.load(zeros + group, mask=inside, other=0.0)
        weight = ((word >> (inner[:, None] % 8 * 4)) & 0xF).to(tl.float16)
        total = tl.dot(left, (weight - zero) * scale, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None].to(tl.int64) * N + columns[None, :], total.to(tl.float16), mask=inside)


@triton.jit
def dequantised_rows_unpacked(out, packed, scales, N, BLOCK: tl.constexpr):
    """Reads a word for each weight instead of one for eight."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(packed + row * (N // 8) + at, mask=at < N, other=0)
    weight = ((word >> (at % 8 * 4)) & 0xF).to(tl.float32)
    tl.store(out + row * N + at, weight * tl.load(scales + row), mask=at < N)


@triton.jit
def dequantised_rows(out, packed, scales, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(packed + row * (N // 8) + at // 8, mask=at < N, other=0)
    weight = ((word >> (at % 8 * 4)) & 0xF).to(tl.float32)
    tl.store(out + row * N + at, weight * tl.load(scales + row), mask=at < N)


@triton.jit
def quantise_rows(out, scales, x, N, BLOCK: tl.constexpr):
    """Eight-bit floats, with a scale for each row."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(value), 0), 1e-6) / 448.0
    tl.store(scales + row, scale)
    tl.store(out + row * N + at, (value / scale).to(tl.float8e4nv), mask=at < N)


@triton.jit
def quantise_blocks_one_scale(out, scales, x, N, BLOCK: tl.constexpr):
    """Each block of a row has a scale of its own, but there is one place for all."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(value), 0), 1e-6) / 448.0
    tl.store(scales + row, scale)
    tl.store(out + row * N + at, (value / scale).to(tl.float8e4nv), mask=at < N)


@triton.jit
def scaled_product(out, a, a_scales, b, b_scales, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Eight-bit floats with a power of two for each 32 of them along K."""
    rows = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    columns = (tl.program_id(1) * BN + tl.arange(0, BN))[:, None]
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for k in range(0, K, BK):
        inner = (k + tl.arange(0, BK))[None, :]
        group = (k // 32 + tl.arange(0, BK // 32))[None, :]
        left = tl.load(a + rows.to(tl.int64) * K + inner, mask=(rows < M) & (inner < K), other=0.0)
        right = tl.load(b + columns.to(tl.int64) * K + inner, mask=(columns < N) & (inner < K), other=0.0)
        left_scale = tl.load(
            a_scales + rows.to(tl.int64) * (K // 32) + group, mask=(rows < M) & (group < K // 32), other=0
        )
        right_scale = tl.load(
            b_scales + columns.to(tl.int64) * (K // 32) + group, mask=(columns < N) & (group < K // 32), other=0
        )
        total = tl.dot_scaled(left, left_scale, "e4m3", right.T, right_scale, "e4m3", total)
    columns = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    tl.store(out + rows.to(tl.int64) * N + columns, total, mask=(rows < M) & (columns < N))


@triton.jit
def top_values(values, places, x, N, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    keys = tl.load(x + row * N + at, mask=at < N, other=-(2**31))
    order = (keys.to(tl.int64) << 32) | (BLOCK - 1 - at).to(tl.int64)
    best = tl.topk(order, K)
    rank = tl.arange(0, K)
    tl.store(values + row * K + rank, (best >> 32).to(tl.int32))
    tl.store(places + row * K + rank, (BLOCK - 1 - (best & 0xFFFFFFFF)).to(tl.int32))


@triton.jit
def sorted_rows(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    keys = tl.sort(tl.load(x + row * N + at, mask=at < N, other=2**31 - 1))
    tl.store(out + row * N + at, keys, mask=at < N)


@triton.jit
def sorted_rows_whole(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    keys = tl.sort(tl.load(x + row * N + at, mask=at < N, other=2**31 - 1))
    tl.store(out + row * N + at, keys)


@triton.jit
def dropout(out, x, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, tl.load(x + at, mask=at < n, other=0.0) / (1 - p), 0.0), mask=at < n)


@triton.jit
def convolution(out, x, weight, N, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    """A causal convolution along rows."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for tap in tl.static_range(TAPS):
        place = at - tap
        total += tl.load(weight + tap) * tl.load(x + row * N + place, mask=(place >= 0) & (place < N), other=0.0)
    tl.store(out + row * N + at, total, mask=at < N)


@triton.jit
def convolution_before_row(out, x, weight, N, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for tap in tl.static_range(TAPS):
        total += tl.load(weight + tap) * tl.load(x + row * N + at - tap, mask=at < N, other=0.0)
    tl.store(out + row * N + at, total, mask=at < N)


@triton.jit
def compact(out, count, x, n, BLOCK: tl.constexpr):
    """The positive elements, each at the place that a scan gives it."""
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    kept = (value > 0).to(tl.int32)
    place = tl.cumsum(kept, 0) - kept
    tl.store(out + place, value, mask=value > 0)
    tl.store(count, tl.sum(kept, 0))


@triton.jit
def compact_inclusive(out, count, x, n, BLOCK: tl.constexpr):
    """The scan counts the element itself, too."""
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    kept = (value > 0).to(tl.int32)
    place = tl.cumsum(kept, 0)
    tl.store(out + place, value, mask=value > 0)
    tl.store(count, tl.sum(kept, 0))
