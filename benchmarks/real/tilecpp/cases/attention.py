"""Attention in all its forms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from tilegym.ops.tilecpp.attention import tilecpp_fmha
from tilegym.ops.tilecpp.attention_sink import attention_sink
from tilegym.ops.tilecpp.attention_sink_decode import attention_sink_decode
from tilegym.ops.tilecpp.flash_decode import fmha_decode
from tilegym.ops.tilecpp.gemma_attention import gemma_attention_tilecpp
from tilegym.ops.tilecpp.gemma_attention_decode import gemma_fmha_decode
from tilegym.ops.tilecpp.mla import tilecpp_mla
from tilegym.ops.tilecpp.mla_decoding import mla_decoding
from tilegym.ops.tilecpp.mla_decoding_split_kv import mla_decoding_split_kv

from . import Call, case, normal, there_and_back

SHAPES = ((2, 8, 2, 1024, 128), (1, 4, 4, 512, 64), (2, 6, 3, 333, 64))
"""Batch, heads, heads of keys and values, length, size of a head."""


def _inputs(batch: int, heads: int, kv_heads: int, length: int, dim: int, grad: bool = False) -> list[torch.Tensor]:
    return [normal(batch, h, length, dim, grad=grad) for h in (heads, kv_heads, kv_heads)]


@case
def prefill() -> Iterator[Call]:
    for shape in SHAPES:
        for causal in (True, False):
            yield partial(tilecpp_fmha, *_inputs(*shape), is_causal=causal)
            yield partial(gemma_attention_tilecpp, *_inputs(*shape), is_causal=causal)
            yield partial(gemma_attention_tilecpp, *_inputs(*shape), window_size=128, soft_cap=50.0, use_autotune=True)
            batch, heads, _, length, dim = shape  # the gradient wants a head of keys for each of queries
            inputs = _inputs(batch, heads, heads, length, dim, grad=True)
            yield there_and_back(tilecpp_fmha, *inputs, is_causal=causal)


@case
def sinks() -> Iterator[Call]:
    for batch, length, kv_heads, group, dim in ((1, 128, 8, 8, 64), (2, 300, 2, 4, 64)):
        keys, values = (normal(batch, length, kv_heads, dim) for _ in range(2))
        start = torch.zeros(1, device="cuda", dtype=torch.int32)
        for window in (None, 64):
            yield partial(
                attention_sink,
                normal(batch, length, kv_heads, group, dim),
                keys,
                values,
                normal(kv_heads * group),
                sliding_window=window,
                start_q=start,
            )
            yield partial(
                attention_sink_decode,
                normal(batch, 1, kv_heads, group, dim),
                keys,
                values,
                normal(kv_heads * group),
                sliding_window=window,
                start_q=start + length - 1,
            )


@case
def decode() -> Iterator[Call]:
    for batch, heads, kv_heads, length, dim in (*SHAPES, (4, 32, 8, 4096, 128)):
        _, k, v = _inputs(batch, heads, kv_heads, length, dim)
        q = normal(batch, heads, 1, dim)
        yield partial(fmha_decode, q, k, v, 0.125)
        yield partial(fmha_decode, q, k, v, 0.125, kv_len_per_split=512)
        yield partial(gemma_fmha_decode, q, k, v)
        yield partial(gemma_fmha_decode, q, k, v, 0.125, window_size=128, soft_cap=50.0)


@case
def latent() -> Iterator[Call]:
    for batch, heads, length in ((2, 16, 1024), (1, 32, 500)):
        q, k, v = (normal(batch, heads, length, 128) for _ in range(3))
        rotary = normal(batch, heads, length, 64), normal(batch, 1, length, 64)
        yield partial(tilecpp_mla, q, k, v, *rotary, True, 0.072)  # refuses to be anything but causal
        queries, rotary_queries = normal(batch, heads, 512), normal(batch, heads, 64)
        cache, rotary_cache = normal(batch, length, 512), normal(batch, length, 64)
        for transpose in (True, False):
            yield partial(mla_decoding, queries, rotary_queries, cache, rotary_cache, 0.072, transpose)
        for split in (None, 128):
            yield partial(mla_decoding_split_kv, queries, rotary_queries, cache, rotary_cache, 0.072, split)
