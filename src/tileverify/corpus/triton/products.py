"""Matrix products: grouped, persistent, split along K, and what goes wrong with their masks and tiles."""

import triton
import triton.language as tl


@triton.jit
def grouped_tile(pid, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """The tile of a program: groups of GROUP rows of tiles, column by column."""
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    first = pid // in_group * GROUP
    rows = tl.minimum(tiles_m - first, GROUP)
    return first + pid % in_group % rows, pid % in_group // rows


@triton.jit
def matmul(a, b, c, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid_m, pid_n = grouped_tile(tl.program_id(0), M, N, BM, BN, GROUP)
    rows = (pid_m * BM + tl.arange(0, BM)) % M
    columns = (pid_n * BN + tl.arange(0, BN)) % N
    inner = tl.arange(0, BK)
    a += rows[:, None].to(tl.int64) * lda + inner[None, :]
    b += inner[:, None].to(tl.int64) * ldb + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        left = tl.load(a, mask=inner[None, :] < K - k * BK, other=0.0)
        right = tl.load(b, mask=inner[:, None] < K - k * BK, other=0.0)
        total = tl.dot(left, right, total)
        a += BK
        b += BK * ldb.to(tl.int64)
    rows = pid_m * BM + tl.arange(0, BM)
    columns = pid_n * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None].to(tl.int64) * ldc + columns[None, :], total.to(tl.float16), mask=inside)


@triton.jit
def matmul_whole_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    columns = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None].to(tl.int64) * K + inner[None, :])
        right = tl.load(b + inner[:, None].to(tl.int64) * N + columns[None, :])
        total = tl.dot(left, right, total)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None].to(tl.int64) * N + columns[None, :], total, mask=inside)


@triton.jit
def matmul_stores_wrapped(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    columns = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(a + rows[:, None].to(tl.int64) * K + inner[None, :])
        right = tl.load(b + inner[:, None].to(tl.int64) * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None].to(tl.int64) * N + columns[None, :], total)


@triton.jit
def matmul_masks_swapped(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None].to(tl.int64) * K + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + inner[:, None].to(tl.int64) * N + columns[None, :],
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total = tl.dot(left, right, total)
    inside = (rows[:, None] < N) & (columns[None, :] < M)
    tl.store(c + rows[:, None].to(tl.int64) * N + columns[None, :], total, mask=inside)


@triton.jit
def product_part(a, b, M, N, K, first, last, pid_m, pid_n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The sum over the steps from ``first`` up to ``last`` along K."""
    rows = pid_m * BM + tl.arange(0, BM)
    columns = pid_n * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(first, last):
        inner = step * BK + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None].to(tl.int64) * K + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + inner[:, None].to(tl.int64) * N + columns[None, :],
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total = tl.dot(left, right, total)
    return total


@triton.jit
def split_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    pid_m, pid_n, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    steps = tl.cdiv(tl.cdiv(K, BK), PARTS)
    total = product_part(a, b, M, N, K, part * steps, (part + 1) * steps, pid_m, pid_n, BM, BN, BK)
    rows = pid_m * BM + tl.arange(0, BM)
    columns = pid_n * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(c + rows[:, None].to(tl.int64) * N + columns[None, :], total, mask=inside)


@triton.jit
def split_k_stores(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    pid_m, pid_n, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    steps = tl.cdiv(tl.cdiv(K, BK), PARTS)
    total = product_part(a, b, M, N, K, part * steps, (part + 1) * steps, pid_m, pid_n, BM, BN, BK)
    rows = pid_m * BM + tl.arange(0, BM)
    columns = pid_n * BN + tl.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    place = c + rows[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(place, tl.load(place, mask=inside, other=0.0) + total, mask=inside)


@triton.jit
def persistent_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * tiles_n, tl.num_programs(0)):
        pid_m, pid_n = tile // tiles_n, tile % tiles_n
        total = product_part(a, b, M, N, K, 0, tl.cdiv(K, BK), pid_m, pid_n, BM, BN, BK)
        rows = pid_m * BM + tl.arange(0, BM)
        columns = pid_n * BN + tl.arange(0, BN)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(c + rows[:, None].to(tl.int64) * N + columns[None, :], total, mask=inside)


@triton.jit
def persistent_matmul_wrong_tiles(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        pid_m, pid_n = tile // tiles_m, tile % tiles_n
        total = product_part(a, b, M, N, K, 0, tl.cdiv(K, BK), pid_m, pid_n, BM, BN, BK)
        rows = pid_m * BM + tl.arange(0, BM)
        columns = pid_n * BN + tl.arange(0, BN)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(c + rows[:, None].to(tl.int64) * N + columns[None, :], total, mask=inside)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 256}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
    ],
    key=["n"],
)
@triton.jit
def negate_tuned(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, -tl.load(x + at))
