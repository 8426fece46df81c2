"""Attention over paged caches and ragged batches, latent attention."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import torch
from benchmarks.real.calls import HALF_TYPES, Call, case, normal
from flashinfer.attention.kernels.cutile.fmha_decode_bsr_cutile import (
    _splitk_reduce_with_seq_len,
    decode_mla_kv_paged_cutile,
    fmha_decode_bsr_cutile,
)
from flashinfer.attention.kernels.cutile.fmha_prefill_bsr_cutile import (
    prefill_attention_kv_paged_cutile,
    prefill_attention_kv_ragged_cutile,
)

from . import FLOAT, lengths, offsets


def _block_tables(batch: int, pages: int) -> torch.Tensor:
    """Pages in a scrambled order, none used twice."""
    return torch.randperm(batch * pages, device="cuda").reshape(batch, pages).to(torch.int32)


@case
def decode() -> Iterator[Call]:
    shapes = ((1, 1, 1, 64, 16, 1), (2, 8, 2, 64, 16, 8), (4, 32, 8, 128, 32, 32), (40, 64, 8, 128, 128, 4))
    for (batch, heads, kv_heads, dim, page, pages), dtype in product(shapes, HALF_TYPES):
        held = lengths(*(page * pages - 3 * i % page for i in range(batch)))
        for options in ({}, {"force_split_kv": True}, {"force_persistent": True}):
            yield partial(
                fmha_decode_bsr_cutile,
                normal(batch, heads, dim, dtype=dtype),
                normal(batch * pages, page, kv_heads, dim, dtype=dtype),
                normal(batch * pages, page, kv_heads, dim, dtype=dtype),
                held,
                _block_tables(batch, pages),
                0.125,
                1.0,
                **options,
            )


@case
def latent_decode() -> Iterator[Call]:
    shapes = ((1, 16, 32, 1), (2, 16, 32, 16), (4, 128, 64, 32), (40, 8, 32, 16))
    for (batch, heads, page, pages), dtype in product(shapes, HALF_TYPES):
        for options in ({}, {"force_split_kv": True}, {"force_persistent": True}):
            yield partial(
                decode_mla_kv_paged_cutile,
                normal(batch, heads, 512, dtype=dtype),
                normal(batch, heads, 64, dtype=dtype),
                normal(batch * pages, page, 512, dtype=dtype),
                normal(batch * pages, page, 64, dtype=dtype),
                lengths(*(page * pages - i for i in range(batch))),
                _block_tables(batch, pages),
                0.0417,
                1.0,
                **options,
            )


@case
def split_reduction() -> Iterator[Call]:
    for splits, batch, heads, dim in ((4, 2, 7, 64), (3, 5, 9, 128), (1, 1, 1, 64)):
        yield partial(
            _splitk_reduce_with_seq_len,
            normal(splits, batch, heads, dim),
            normal(batch, heads, splits, dtype=FLOAT),
            lengths(*(128 * splits - i for i in range(batch))),
            128,
        )


@case
def prefill() -> Iterator[Call]:
    shapes = ((1, 1, 1, 64, 16, 1), (2, 8, 2, 64, 16, 16), (3, 16, 4, 128, 32, 16))
    for (batch, heads, kv_heads, dim, page, pages), causal, scheduler in product(shapes, (True, False), (True, False)):
        length = page * pages
        sizes = lengths(*(length - 5 * i for i in range(batch)))
        total = int(sizes.sum())
        for with_lse in (False, True):
            options = {
                "is_causal": causal,
                "use_lpt_scheduler": scheduler,
                "out_lse": torch.empty(total, heads, device="cuda", dtype=FLOAT) if with_lse else None,
            }
            yield partial(
                prefill_attention_kv_paged_cutile,
                normal(total, heads, dim),
                normal(batch * pages, page, kv_heads, dim),
                normal(batch * pages, page, kv_heads, dim),
                sizes,
                sizes,
                offsets(sizes),
                _block_tables(batch, pages),
                0.125,
                1.0,
                batch,
                length,
                **options,
            )
            yield partial(
                prefill_attention_kv_ragged_cutile,
                normal(total, heads, dim),
                normal(total, kv_heads, dim),
                normal(total, kv_heads, dim),
                sizes,
                sizes,
                offsets(sizes),
                None,
                0.125,
                1.0,
                batch,
                length,
                **options,
            )
