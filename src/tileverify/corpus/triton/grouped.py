"""Arrays behind tables of addresses: one program for each, and products of several sizes in one launch, as Triton's
tutorial of grouped products has them: a fixed number of programs walks the tiles of all products."""

import triton
import triton.language as tl


@triton.jit
def scale_each(x, lengths, BLOCK: tl.constexpr):
    """Program g scales array g."""
    g = tl.program_id(0)
    n = tl.load(lengths + g)
    first = tl.load(x + g).to(tl.pointer_type(tl.float32))
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(first + at, tl.load(first + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def scale_each_unmasked(x, lengths, BLOCK: tl.constexpr):
    g = tl.program_id(0)
    n = tl.load(lengths + g)
    first = tl.load(x + g).to(tl.pointer_type(tl.float32))
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(first + at, tl.load(first + at) * 2)


@triton.jit
def scale_first(x, lengths, BLOCK: tl.constexpr):
    """All programs scale the first array."""
    n = tl.load(lengths)
    first = tl.load(x).to(tl.pointer_type(tl.float32))
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(first + at, tl.load(first + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def grouped_matmul(
    a,
    b,
    c,
    sizes,
    strides,
    groups,
    PROGRAMS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    tile = tl.program_id(0)
    end = 0
    for g in range(groups):
        m = tl.load(sizes + g * 3)
        n = tl.load(sizes + g * 3 + 1)
        k = tl.load(sizes + g * 3 + 2)
        across = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * across
        while tile >= end and tile < end + tiles:
            lda = tl.load(strides + g * 3)
            ldb = tl.load(strides + g * 3 + 1)
            ldc = tl.load(strides + g * 3 + 2)
            a_first = tl.load(a + g).to(tl.pointer_type(tl.float16))
            b_first = tl.load(b + g).to(tl.pointer_type(tl.float16))
            c_first = tl.load(c + g).to(tl.pointer_type(tl.float16))
            own = tile - end
            rows = own // across * BM + tl.arange(0, BM)
            columns = own % across * BN + tl.arange(0, BN)
            depth = tl.arange(0, BK)
            a_block = a_first + rows[:, None] * lda + depth[None, :]
            b_block = b_first + depth[:, None] * ldb + columns[None, :]
            total = tl.zeros((BM, BN), dtype=tl.float32)
            for _ in range(tl.cdiv(k, BK)):
                total += tl.dot(tl.load(a_block), tl.load(b_block))
                a_block += BK
                b_block += BK * ldb
            tl.store(c_first + rows[:, None] * ldc + columns[None, :], total.to(tl.float16))
            tile += PROGRAMS
        end += tiles


@triton.jit
def grouped_matmul_one_output(
    a,
    b,
    c,
    sizes,
    strides,
    groups,
    PROGRAMS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """All groups write to the output of the first one."""
    tile = tl.program_id(0)
    end = 0
    for g in range(groups):
        m = tl.load(sizes + g * 3)
        n = tl.load(sizes + g * 3 + 1)
        k = tl.load(sizes + g * 3 + 2)
        across = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * across
        while tile >= end and tile < end + tiles:
            lda = tl.load(strides + g * 3)
            ldb = tl.load(strides + g * 3 + 1)
            ldc = tl.load(strides + g * 3 + 2)
            a_first = tl.load(a + g).to(tl.pointer_type(tl.float16))
            b_first = tl.load(b + g).to(tl.pointer_type(tl.float16))
            c_first = tl.load(c).to(tl.pointer_type(tl.float16))
            own = tile - end
            rows = own // across * BM + tl.arange(0, BM)
            columns = own % across * BN + tl.arange(0, BN)
            depth = tl.arange(0, BK)
            a_block = a_first + rows[:, None] * lda + depth[None, :]
            b_block = b_first + depth[:, None] * ldb + columns[None, :]
            total = tl.zeros((BM, BN), dtype=tl.float32)
            for _ in range(tl.cdiv(k, BK)):
                total += tl.dot(tl.load(a_block), tl.load(b_block))
                a_block += BK
                b_block += BK * ldb
            tl.store(c_first + rows[:, None] * ldc + columns[None, :], total.to(tl.float16))
            tile += PROGRAMS
        end += tiles


@triton.jit
def grouped_matmul_other_stride(
    a,
    b,
    c,
    sizes,
    strides,
    groups,
    PROGRAMS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """Rows of the output are taken to be as far apart as rows of the second factor."""
    tile = tl.program_id(0)
    end = 0
    for g in range(groups):
        m = tl.load(sizes + g * 3)
        n = tl.load(sizes + g * 3 + 1)
        k = tl.load(sizes + g * 3 + 2)
        across = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * across
        while tile >= end and tile < end + tiles:
            lda = tl.load(strides + g * 3)
            ldb = tl.load(strides + g * 3 + 1)
            a_first = tl.load(a + g).to(tl.pointer_type(tl.float16))
            b_first = tl.load(b + g).to(tl.pointer_type(tl.float16))
            c_first = tl.load(c + g).to(tl.pointer_type(tl.float16))
            own = tile - end
            rows = own // across * BM + tl.arange(0, BM)
            columns = own % across * BN + tl.arange(0, BN)
            depth = tl.arange(0, BK)
            a_block = a_first + rows[:, None] * lda + depth[None, :]
            b_block = b_first + depth[:, None] * ldb + columns[None, :]
            total = tl.zeros((BM, BN), dtype=tl.float32)
            for _ in range(tl.cdiv(k, BK)):
                total += tl.dot(tl.load(a_block), tl.load(b_block))
                a_block += BK
                b_block += BK * ldb
            tl.store(c_first + rows[:, None] * ldb + columns[None, :], total.to(tl.float16))
            tile += PROGRAMS
        end += tiles
