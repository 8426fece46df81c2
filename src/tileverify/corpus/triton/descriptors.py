"""Tensor descriptors, of the host and made in the kernel."""

import triton
import triton.language as tl


@triton.jit
def matmul_by_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def matmul_by_short_steps(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Tiles of C begin every BM // 2 rows."""
    row, column = tl.program_id(0) * (BM // 2), tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def absolute(x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    tiles = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    tiles.store([row, column], tl.abs(tiles.load([row, column])))


@triton.jit
def absolute_of_more_rows(x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """The descriptor speaks of a row that the array does not have."""
    tiles = tl.make_tensor_descriptor(x, shape=[M + 1, N], strides=[N, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    tiles.store([row, column], tl.abs(tiles.load([row, column])))


@triton.jit
def add_into(x, y, BM: tl.constexpr, BN: tl.constexpr):
    """All programs along the second axis add to the same tile."""
    row = tl.program_id(0) * BM
    x.atomic_add([row, 0], y.load([row, tl.program_id(1) * BN]))


@triton.jit
def store_into(x, y, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM
    x.store([row, 0], y.load([row, tl.program_id(1) * BN]))


@triton.jit
def gather_rows(out, x, index, ROWS: tl.constexpr, BN: tl.constexpr):
    """Rows by number; one that does not exist is zero."""
    first, column = tl.program_id(0) * ROWS, tl.program_id(1) * BN
    out.store([first, column], x.gather(tl.load(index + first + tl.arange(0, ROWS)), column))
