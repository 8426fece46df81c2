"""Kernels in the forms of Triton's tutorials that stand nowhere else here, and one wrong twin of each."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def persistent_softmax(out, x, out_stride, x_stride, M, N, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        scores = tl.load(x + row.to(tl.int64) * x_stride + at, mask=at < N, other=-float("inf"))
        weights = tl.exp(scores - tl.max(scores, axis=0))
        tl.store(out + row.to(tl.int64) * out_stride + at, weights / tl.sum(weights, axis=0), mask=at < N)


@triton.jit
def persistent_softmax_by_ones(out, x, out_stride, x_stride, M, N, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), M, 1, num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        scores = tl.load(x + row.to(tl.int64) * x_stride + at, mask=at < N, other=-float("inf"))
        weights = tl.exp(scores - tl.max(scores, axis=0))
        tl.store(out + row.to(tl.int64) * out_stride + at, weights / tl.sum(weights, axis=0), mask=at < N)


@triton.jit
def seeded_dropout(out, x, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, value / (1 - p), 0.0), mask=inside)


@triton.jit
def arc_sine(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, libdevice.asin(tl.load(x + at, mask=at < n)), mask=at < n)


@triton.jit
def attention_stage(
    found,
    total,
    highest,
    q,
    k,
    v,
    row,
    base,
    scale,
    low,
    high,
    BM: tl.constexpr,
    BN: tl.constexpr,
    MASKED: tl.constexpr,
):
    rows, lanes = row * BM + tl.arange(0, BM), tl.arange(0, BN)
    for start in tl.range(low, high, BN):
        start = tl.multiple_of(start, BN)
        scores = tl.dot(q, k.load([base + start, 0]).T) * scale
        if MASKED:
            scores += tl.where(rows[:, None] >= (start + lanes[None, :]), 0.0, -1.0e6)
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.math.exp2(scores - higher[:, None])
        factor = tl.math.exp2(highest - higher)
        total = total * factor + tl.sum(weights, 1)
        found = tl.dot(weights.to(tl.float16), v.load([base + start, 0]), found * factor[:, None])
        highest = higher
    return found, total, highest


@triton.jit
def fused_attention(q, k, v, out, logsums, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Causal, by descriptors of [Z * H * S, D]: first the whole blocks below the diagonal, then the one on it."""
    row, head = tl.program_id(0), tl.program_id(1)
    base = head * S
    queries = q.load([base + row * BM, 0])
    highest = tl.full([BM], -float("inf"), dtype=tl.float32)
    total = tl.full([BM], 1.0, dtype=tl.float32)
    found = tl.zeros([BM, D], dtype=tl.float32)
    found, total, highest = attention_stage(
        found, total, highest, queries, k, v, row, base, scale, 0, row * BM, BM, BN, MASKED=False
    )
    found, total, highest = attention_stage(
        found, total, highest, queries, k, v, row, base, scale, row * BM, (row + 1) * BM, BM, BN, MASKED=True
    )
    tl.store(logsums + head.to(tl.int64) * S + row * BM + tl.arange(0, BM), highest + tl.math.log2(total))
    out.store([base + row * BM, 0], (found / total[:, None]).to(tl.float16))


@triton.jit
def persistent_descriptor_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, tl.num_programs(0), flatten=True):
        row, column = tile // tiles_n * BM, tile % tiles_n * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            total = tl.dot(a.load([row, k * BK]), b.load([column, k * BK]).T, total)
        c.store([row, column], total.to(tl.float16))


@triton.jit
def stream_k_fix_up(c, parts, flags, a, b, TILES, STEPS, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Two programs share each tile: the second one hands its part to the first by a flag."""
    tile, half = tl.program_id(0) // 2, tl.program_id(0) % 2
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(half * (STEPS // 2), tl.where(half == 0, STEPS // 2, STEPS)):
        inner = step * BK + tl.arange(0, BK)
        left = tl.load(a + (tile.to(tl.int64) * BM + tl.arange(0, BM)[:, None]) * (STEPS * BK) + inner[None, :])
        right = tl.load(b + inner[:, None].to(tl.int64) * BN + tl.arange(0, BN)[None, :])
        total = tl.dot(left, right, total)
    if half == 1:
        tl.store(parts + tile.to(tl.int64) * (BM * BN) + at, total)
        tl.debug_barrier()
        tl.atomic_xchg(flags + tile, 1)
    else:
        while tl.atomic_cas(flags + tile, 1, 1) != 1:
            pass
        total += tl.load(parts + tile.to(tl.int64) * (BM * BN) + at)
        tl.store(c + tile.to(tl.int64) * (BM * BN) + at, total)


@triton.jit
def stream_k_without_wait(c, parts, flags, a, b, TILES, STEPS, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile, half = tl.program_id(0) // 2, tl.program_id(0) % 2
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(half * (STEPS // 2), tl.where(half == 0, STEPS // 2, STEPS)):
        inner = step * BK + tl.arange(0, BK)
        left = tl.load(a + (tile.to(tl.int64) * BM + tl.arange(0, BM)[:, None]) * (STEPS * BK) + inner[None, :])
        right = tl.load(b + inner[:, None].to(tl.int64) * BN + tl.arange(0, BN)[None, :])
        total = tl.dot(left, right, total)
    if half == 1:
        tl.store(parts + tile.to(tl.int64) * (BM * BN) + at, total)
        tl.debug_barrier()
        tl.atomic_xchg(flags + tile, 1)
    else:
        total += tl.load(parts + tile.to(tl.int64) * (BM * BN) + at)
        tl.store(c + tile.to(tl.int64) * (BM * BN) + at, total)


@triton.jit
def block_scaled_product(
    a, a_scale, b, b_scale, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, group_stride: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr, VEC: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Scales lie in blocks of 128 rows: [rows / 128, K / VEC / 4, 32, 4, 4]."""
    pid = tl.program_id(0)
    across = tl.cdiv(M, BM)
    row, column = pid % across, pid // across
    inner: tl.constexpr = BK // VEC // 4 * 512
    a_rows = (row * (BM // 128) + tl.arange(0, BM // 128)) % (M // 128)
    b_rows = (column * (BN // 128) + tl.arange(0, BN // 128)) % (N // 128)
    a_at = a_scale + a_rows[:, None] * group_stride + tl.arange(0, inner)[None, :]
    b_at = b_scale + b_rows[:, None] * group_stride + tl.arange(0, inner)[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), num_stages=3):
        x = a.load([row * BM, k * (BK // PA)])
        y = b.load([column * BN, k * (BK // PB)])
        s = tl.load(a_at).reshape(BM // 128, BK // VEC // 4, 32, 4, 4)
        t = tl.load(b_at).reshape(BN // 128, BK // VEC // 4, 32, 4, 4)
        s = s.trans(0, 3, 2, 1, 4).reshape(BM, BK // VEC)
        t = t.trans(0, 3, 2, 1, 4).reshape(BN, BK // VEC)
        total = tl.dot_scaled(x, s, A, y.T, t, B, total)
        a_at += inner
        b_at += inner
    out.store([row * BM, column * BN], total.to(tl.float16))
