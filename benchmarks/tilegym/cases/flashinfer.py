"""``tilegym.suites.flashinfer``: serving kernels with paged caches and ragged batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from tilegym.suites.flashinfer.cutile.fmha_decode_bsr import (
    _splitk_reduce_with_seq_len,
    decode_attention_kv_paged,
    decode_mla_kv_paged,
)
from tilegym.suites.flashinfer.cutile.fmha_prefill_bsr import prefill_attention_kv_paged, prefill_attention_kv_ragged
from tilegym.suites.flashinfer.cutile.gemm.gemm_alpha_beta import gemm_alpha_beta
from tilegym.suites.flashinfer.cutile.gemm.masked_bmm import masked_bmm
from tilegym.suites.flashinfer.cutile.gemm.ragged_block_scaled_bmm import ragged_block_scaled_bmm
from tilegym.suites.flashinfer.cutile.gemm.ragged_bmm import ragged_bmm
from tilegym.suites.flashinfer.cutile.per_token_group_quant_8bit import per_token_group_quant_8bit
from tilegym.suites.flashinfer.cutile.rope_quantize_fp8 import rope_quantize_fp8

from . import Call, case, normal

FLOAT = torch.float32
FP8 = torch.float8_e4m3fn


def _lengths(*values: int) -> torch.Tensor:
    return torch.tensor(values, device="cuda", dtype=torch.int32)


def _offsets(lengths: torch.Tensor) -> torch.Tensor:
    return torch.cat((_lengths(0), lengths.cumsum(0))).to(torch.int32)


def _block_tables(batch: int, pages: int) -> torch.Tensor:
    """Pages in a scrambled order, none used twice."""
    return torch.randperm(batch * pages, device="cuda").reshape(batch, pages).to(torch.int32)


@case
def decode() -> Iterator[Call]:
    for batch, heads, kv_heads, dim, page, pages in (
        (2, 8, 2, 64, 16, 8),
        (4, 32, 8, 128, 32, 32),
        (40, 64, 8, 128, 128, 4),
    ):
        lengths = _lengths(*(page * pages - 3 * i % page for i in range(batch)))
        for split in (False, True):
            yield partial(
                decode_attention_kv_paged,
                normal(batch, heads, dim),
                normal(batch * pages, page, kv_heads, dim),
                normal(batch * pages, page, kv_heads, dim),
                lengths,
                _block_tables(batch, pages),
                0.125,
                1.0,
                force_split_kv=split,
            )
    for batch, heads, page, pages in ((2, 16, 32, 16), (4, 128, 64, 32), (40, 7, 32, 16)):
        for split in (False, True):
            yield partial(
                decode_mla_kv_paged,
                normal(batch, heads, 512),
                normal(batch, heads, 64),
                normal(batch * pages, page, 512),
                normal(batch * pages, page, 64),
                _lengths(*(page * pages - i for i in range(batch))),
                _block_tables(batch, pages),
                0.0417,
                1.0,
                force_split_kv=split,
                force_persistent=not split,
            )


@case
def split_reduction() -> Iterator[Call]:
    """The one-head form of the reduction, which only odd numbers of heads reach."""
    for splits, batch, heads, dim in ((4, 2, 7, 64), (3, 5, 9, 128)):
        yield partial(
            _splitk_reduce_with_seq_len,
            normal(splits, batch, heads, dim),
            normal(batch, heads, splits, dtype=FLOAT),
            _lengths(*(128 * splits - i for i in range(batch))),
            128,
        )


@case
def prefill() -> Iterator[Call]:
    for batch, heads, kv_heads, dim, page, pages in ((2, 8, 2, 64, 16, 16), (3, 16, 4, 128, 32, 16)):
        length = page * pages
        lengths = _lengths(*(length - 5 * i for i in range(batch)))
        total = int(lengths.sum())
        for causal in (True, False):
            for scheduler in (True, False):
                options = {"is_causal": causal, "use_lpt_scheduler": scheduler}
                yield partial(
                    prefill_attention_kv_paged,
                    normal(total, heads, dim),
                    normal(batch * pages, page, kv_heads, dim),
                    normal(batch * pages, page, kv_heads, dim),
                    lengths,
                    lengths,
                    _offsets(lengths),
                    _block_tables(batch, pages),
                    0.125,
                    1.0,
                    batch,
                    length,
                    **options,
                )
                for value_dim in (dim, dim // 2):
                    yield partial(
                        prefill_attention_kv_ragged,
                        normal(total, heads, dim),
                        normal(total, kv_heads, dim),
                        normal(total, kv_heads, value_dim),
                        lengths,
                        lengths,
                        _offsets(lengths),
                        None,
                        0.125,
                        1.0,
                        batch,
                        length,
                        **options,
                    )


@case
def products() -> Iterator[Call]:
    for m, n, k in ((128, 256, 64), (500, 300, 200), (2048, 1024, 512)):
        for transposed_a, transposed_b in ((False, True), (True, False)):
            for tuned in (True, False):
                yield partial(
                    gemm_alpha_beta,
                    normal(*((k, m) if transposed_a else (m, k))),
                    normal(*((n, k) if transposed_b else (k, n))),
                    normal(m, n),
                    trans_a=transposed_a,
                    trans_b=transposed_b,
                    alpha=0.5,
                    beta=1.5,
                    use_autotune=tuned,
                )
    for batch, m, n, k in ((4, 128, 256, 64), (3, 100, 200, 72)):
        for transposed in (False, True):
            b = normal(*((batch, n, k) if transposed else (batch, k, n)))
            rows = _lengths(*(m - 7 * i for i in range(batch)))
            yield partial(masked_bmm, normal(batch, m, k), b, rows, transpose_b=transposed)
            offsets = _offsets(rows)
            yield partial(ragged_bmm, normal(int(offsets[-1]), k), b, offsets, m, transpose_b=transposed)
    for batch, m, n, k in ((4, 128, 256, 256), (8, 512, 512, 384)):
        offsets = _offsets(_lengths(*(m - 7 * i for i in range(batch))))
        total = int(offsets[-1])
        for scaled in (True, False):
            yield partial(
                ragged_block_scaled_bmm,
                normal(total, k, dtype=FP8),
                normal(batch, n, k, dtype=FP8),
                torch.rand(total, k // 128, device="cuda") if scaled else None,
                torch.rand(batch, n // 128, k // 128, device="cuda"),
                offsets,
                m,
            )


@case
def quantisation() -> Iterator[Call]:
    for rows, columns in ((64, 512), (100, 7168)):
        for group in (64, 128):
            for column_major, aligned, unsigned in (
                (False, False, False),
                (True, False, False),
                (True, True, False),
                (True, True, True),
            ):
                yield partial(
                    per_token_group_quant_8bit,
                    normal(rows, columns),
                    group,
                    dst_dtype=torch.int8 if rows == 64 and not unsigned else FP8,
                    column_major_scales=column_major,
                    scale_tma_aligned=aligned,
                    scale_ue8m0=unsigned,
                )
    for tokens, heads in ((4, 8), (100, 128), (256, 32)):
        yield partial(
            rope_quantize_fp8,
            normal(tokens, heads, 64),
            normal(tokens, 64),
            normal(tokens, heads, 512),
            normal(tokens, 512),
            normal(4096, 64, dtype=FLOAT),
            torch.arange(tokens, device="cuda", dtype=torch.int32),
            is_neox=False,
            quantize_dtype=FP8,
        )
        # As a caller with one buffer for each head does it: rotated and plain parts interleave.
        q, k = normal(tokens, heads, 576), normal(tokens, 576)
        q_out, k_out = torch.empty_like(q, dtype=FP8), torch.empty_like(k, dtype=FP8)
        yield partial(
            rope_quantize_fp8,
            q[..., 512:],
            k[..., 512:],
            q[..., :512],
            k[..., :512],
            normal(4096, 64, dtype=FLOAT),
            torch.arange(tokens, device="cuda", dtype=torch.int32),
            is_neox=False,
            quantize_dtype=FP8,
            q_rope_out=q_out[..., 512:],
            k_rope_out=k_out[..., 512:],
            q_nope_out=q_out[..., :512],
            k_nope_out=k_out[..., :512],
        )
