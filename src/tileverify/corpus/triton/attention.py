"""Attention forward in the form of FlashAttention, and decoding with a cache."""

import triton
import triton.language as tl


@triton.jit
def attention(
    q,
    k,
    v,
    out,
    logsums,
    stride_head,
    S,
    scale,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    base = tl.program_id(1).to(tl.int64) * stride_head
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    lanes, at = tl.arange(0, BN), tl.arange(0, D)
    queries = tl.load(q + base + rows[:, None].to(tl.int64) * D + at[None, :], mask=rows[:, None] < S, other=0.0)
    highest = tl.full([BM], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BM], dtype=tl.float32)
    found = tl.zeros([BM, D], dtype=tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * BM, S) if CAUSAL else S
    for start in range(0, end, BN):
        columns = start + lanes
        keys = tl.load(k + base + columns[None, :].to(tl.int64) * D + at[:, None], mask=columns[None, :] < S, other=0.0)
        scores = tl.dot(queries, keys) * scale
        scores = tl.where(columns[None, :] < S, scores, -float("inf"))
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, -float("inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        factor = tl.exp2(highest - higher)
        total = total * factor + tl.sum(weights, 1)
        values = tl.load(
            v + base + columns[:, None].to(tl.int64) * D + at[None, :], mask=columns[:, None] < S, other=0.0
        )
        found = tl.dot(weights.to(tl.float16), values, found * factor[:, None])
        highest = higher
    tl.store(logsums + tl.program_id(1).to(tl.int64) * S + rows, highest + tl.log2(total), mask=rows < S)
    found = found / total[:, None]
    tl.store(out + base + rows[:, None].to(tl.int64) * D + at[None, :], found.to(tl.float16), mask=rows[:, None] < S)


@triton.jit
def attention_unmasked_tail(q, k, v, out, stride_head, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * stride_head
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    lanes, at = tl.arange(0, BN), tl.arange(0, D)
    queries = tl.load(q + base + rows[:, None].to(tl.int64) * D + at[None, :], mask=rows[:, None] < S, other=0.0)
    found = tl.zeros([BM, D], dtype=tl.float32)
    for start in range(0, S, BN):
        columns = start + lanes
        keys = tl.load(k + base + columns[None, :].to(tl.int64) * D + at[:, None], mask=columns[None, :] < S, other=0.0)
        weights = tl.exp2(tl.where(columns[None, :] < S, tl.dot(queries, keys) * scale, -float("inf")))
        values = tl.load(
            v + base + columns[:, None].to(tl.int64) * D + at[None, :], mask=columns[:, None] < S, other=0.0
        )
        found = tl.dot(weights.to(tl.float16), values, found)
    tl.store(out + base + rows[:, None].to(tl.int64) * D + at[None, :], found.to(tl.float16))


@triton.jit
def decode(q, k, v, out, tables, lengths, BLOCKS, scale, D: tl.constexpr, PAGE: tl.constexpr):
    """One query for each sequence, over the pages of its cache."""
    sequence = tl.program_id(0).to(tl.int64)
    at, lane = tl.arange(0, D), tl.arange(0, PAGE)
    length = tl.load(lengths + sequence)
    query = tl.load(q + sequence * D + at)
    highest = -float("inf")
    total = 0.0
    found = tl.zeros([D], dtype=tl.float32)
    for number in range(tl.cdiv(length, PAGE)):
        page = tl.load(tables + sequence * BLOCKS + number).to(tl.int64)
        live = number * PAGE + lane < length
        place = (page * PAGE + lane[:, None]) * D + at[None, :]
        keys = tl.load(k + place, mask=live[:, None], other=0.0)
        scores = tl.where(live, tl.sum(keys * query[None, :], 1) * scale, -float("inf"))
        higher = tl.maximum(highest, tl.max(scores, 0))
        weights = tl.exp2(scores - higher)
        factor = tl.exp2(highest - higher)
        total = total * factor + tl.sum(weights, 0)
        found = found * factor + tl.sum(weights[:, None] * tl.load(v + place, mask=live[:, None], other=0.0), 0)
        highest = higher
    tl.store(out + sequence * D + at, found / total)
