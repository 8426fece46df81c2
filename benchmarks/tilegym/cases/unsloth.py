"""``tilegym.suites.unsloth``: fine-tuning kernels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from tilegym.suites.unsloth.cutile.cross_entropy_loss import cross_entropy_loss
from tilegym.suites.unsloth.cutile.fp8 import act_quant, w8a8_block_fp8_matmul_cutile, weight_dequant_block
from tilegym.suites.unsloth.cutile.geglu import (
    geglu_approx_backward,
    geglu_approx_forward,
    geglu_exact_backward,
    geglu_exact_forward,
)
from tilegym.suites.unsloth.cutile.grouped_gemm import grouped_gemm_cutile
from tilegym.suites.unsloth.cutile.layernorm import layernorm
from tilegym.suites.unsloth.cutile.rms_layernorm import rms_layernorm
from tilegym.suites.unsloth.cutile.rope_embedding import rope_embedding, rope_embedding_qk
from tilegym.suites.unsloth.cutile.swiglu import swiglu_bwd, swiglu_fg

from . import Call, case, integers, normal, there_and_back

FLOAT = torch.float32
FP8 = torch.float8_e4m3fn


@case
def losses() -> Iterator[Call]:
    for rows, columns in ((64, 1000), (128, 32000), (64, 128256)):
        for softcap, scale in ((0, 0), (30.0, 0), (0, 0.125)):
            yield there_and_back(
                cross_entropy_loss,
                normal(rows // 4, 4, columns, grad=True),
                integers(0, columns, rows // 4, 4),
                softcap,
                scale,
            )


@case
def quantisation() -> Iterator[Call]:
    for m, n, k in ((128, 256, 512), (100, 384, 640), (4096, 1024, 7168)):
        weight = normal(n, k, dtype=FP8)
        scales = torch.rand(-(-n // 128), -(-k // 128), device="cuda")
        yield partial(weight_dequant_block, weight, scales)
        yield partial(act_quant, normal(m, k))
        for dtype in (torch.bfloat16, torch.float16, FLOAT):
            a, a_scales = normal(m, k, dtype=FP8), torch.rand(m, k // 128, device="cuda")
            yield partial(w8a8_block_fp8_matmul_cutile, a, weight, a_scales, scales, [128, 128], dtype)


@case
def activations() -> Iterator[Call]:
    for batch, length, columns in ((2, 16, 128), (1, 37, 1000), (2, 512, 4096)):
        for dtype in (torch.bfloat16, torch.float16):
            for forward in (geglu_exact_forward, geglu_approx_forward, swiglu_fg):
                yield partial(forward, *(normal(batch, length, columns, dtype=dtype) for _ in range(2)))
            for backward in (geglu_exact_backward, geglu_approx_backward, swiglu_bwd):
                yield partial(backward, *(normal(batch * length, columns, dtype=dtype) for _ in range(3)))


@case
def grouped_products() -> Iterator[Call]:
    for tokens, topk, experts, n, k in ((64, 2, 4, 128, 256), (512, 1, 8, 256, 512), (96, 4, 3, 100, 72)):
        rows = tokens * topk
        sizes = torch.full((experts,), rows // experts, device="cuda", dtype=torch.int32)
        sizes[-1] += rows - int(sizes.sum())
        weight = normal(experts, n, k, grad=True)
        order = torch.randperm(rows, device="cuda").to(torch.int32)
        product = grouped_gemm_cutile
        yield there_and_back(product, normal(rows, k, grad=True), weight, sizes, topk)
        yield there_and_back(product, normal(tokens, k, grad=True), weight, sizes, topk, order, permute_x=True)
        yield there_and_back(product, normal(rows, k, grad=True), weight, sizes, topk, order, permute_y=True)


@case
def normalisations() -> Iterator[Call]:
    for rows, columns in ((4, 128), (37, 1000), (512, 4096), (16, 16384)):
        for dtype in (torch.bfloat16, FLOAT):
            weight, bias = normal(columns, dtype=dtype), normal(columns, dtype=dtype)
            yield there_and_back(layernorm, normal(rows, columns, dtype=dtype, grad=True), weight, bias)
            for gemma in (False, True):
                x = normal(rows, columns, dtype=dtype, grad=True)
                yield there_and_back(rms_layernorm, x, weight, gemma=gemma)


@case
def rotary_embeddings() -> Iterator[Call]:
    for batch, length, heads, kv_heads, dim in ((1, 128, 8, 2, 64), (2, 100, 6, 3, 80), (2, 512, 32, 8, 128)):
        cos, sin = normal(length, dim // 2), normal(length, dim // 2)
        q = normal(batch, length, heads, dim, grad=True)
        yield there_and_back(rope_embedding, q, cos, sin)
        for indices in (None, integers(0, length, batch * length, dtype=torch.int32)):
            yield there_and_back(
                rope_embedding_qk,
                normal(batch, heads, length, dim, grad=True),
                normal(batch, kv_heads, length, dim, grad=True),
                cos,
                sin,
                indices,
            )
