"""Quantisation by groups and with rotary embedding."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import torch
from benchmarks.real.calls import HALF_TYPES, Call, case, normal
from flashinfer.quantization.kernels.cutile.mxfp8_grouped_quantize_cutile import mxfp8_grouped_quantize_cutile
from flashinfer.quantization.kernels.cutile.per_token_group_quant_8bit_cutile import per_token_group_quant_8bit_cutile
from flashinfer.quantization.kernels.cutile.rope_quantize_fp8_cutile import rope_quantize_fp8_cutile

from . import FLOAT, FP8, lengths, offsets


@case
def by_token_groups() -> Iterator[Call]:
    layouts = ((False, False, False), (True, False, False), (True, True, False), (True, True, True))
    for (rows, columns), group, layout in product(((1, 128), (64, 512), (100, 7168)), (64, 128), layouts):
        for dtype in HALF_TYPES:
            yield partial(
                per_token_group_quant_8bit_cutile,
                normal(rows, columns, dtype=dtype),
                group,
                dst_dtype=torch.int8 if rows == 64 and not layout[2] else FP8,
                column_major_scales=layout[0],
                scale_tma_aligned=layout[1],
                scale_ue8m0=layout[2],
            )


@case
def with_rotation() -> Iterator[Call]:
    for tokens, heads in ((1, 1), (4, 8), (100, 128), (256, 32)):
        yield partial(
            rope_quantize_fp8_cutile,
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
            rope_quantize_fp8_cutile,
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


@case
def by_experts() -> Iterator[Call]:
    for sizes, k in (((5,), 128), ((128, 0, 200, 7), 512), (tuple(range(1, 40)), 256)):
        for dtype in HALF_TYPES:
            rows = lengths(*sizes)
            ends = offsets(rows)
            scaled = offsets((rows + 127) // 128 * 128)
            problems = torch.stack((rows, torch.full_like(rows, 256), torch.full_like(rows, k)), 1)
            total = int(ends[-1])
            yield partial(
                mxfp8_grouped_quantize_cutile,
                normal(total, k, dtype=dtype),
                problems,
                ends[:-1],
                scaled[:-1],
                torch.empty(total, k, device="cuda", dtype=FP8),
                torch.empty(int(scaled[-1]), k // 32, device="cuda", dtype=torch.uint8),
            )
