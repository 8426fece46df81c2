"""Sequences of different lengths, one behind the other, cut into chunks: a table says which chunk a program takes."""

import triton
import triton.language as tl


@triton.jit
def scale_chunks(out, x, cu_seqlens, chunk_indices, H, BT: tl.constexpr):
    row = tl.program_id(0)
    sequence = tl.load(chunk_indices + row * 2).to(tl.int64)
    chunk = tl.load(chunk_indices + row * 2 + 1).to(tl.int64)
    begin = tl.load(cu_seqlens + sequence).to(tl.int64)
    end = tl.load(cu_seqlens + sequence + 1).to(tl.int64)
    at = begin + chunk * BT + tl.arange(0, BT)
    place = at * H + tl.program_id(1)
    tl.store(out + place, tl.load(x + place, mask=at < end) * 2, mask=at < end)


@triton.jit
def scale_chunks_past_the_end(out, x, cu_seqlens, chunk_indices, T, H, BT: tl.constexpr):
    """The last chunk of a sequence runs into the next one."""
    row = tl.program_id(0)
    sequence = tl.load(chunk_indices + row * 2).to(tl.int64)
    chunk = tl.load(chunk_indices + row * 2 + 1).to(tl.int64)
    begin = tl.load(cu_seqlens + sequence).to(tl.int64)
    at = begin + chunk * BT + tl.arange(0, BT)
    place = at * H + tl.program_id(1)
    tl.store(out + place, tl.load(x + place, mask=at < T) * 2, mask=at < T)


@triton.jit
def chunk_sums(out, x, cu_seqlens, chunk_offsets, BT: tl.constexpr):
    """A program takes all chunks of one sequence, whose sums lie behind those of the sequence before."""
    begin, end = tl.load(cu_seqlens + tl.program_id(0)), tl.load(cu_seqlens + tl.program_id(0) + 1)
    first = tl.load(chunk_offsets + tl.program_id(0))
    for chunk in range(tl.cdiv(end - begin, BT)):
        at = begin + chunk * BT + tl.arange(0, BT)
        tl.store(out + first + chunk, tl.sum(tl.load(x + at, mask=at < end, other=0)))
