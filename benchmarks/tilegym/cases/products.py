"""``tilegym.ops``: matrix products, mixtures of experts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import cuda.tile as ct
import torch
from tilegym.ops.cutile.bmm import bmm
from tilegym.ops.cutile.fp8_quantization_matmul import w8a8_block_fp8_matmul
from tilegym.ops.cutile.group_gemm import group_gemm
from tilegym.ops.cutile.linear_gluact_linear import linear_gluact_linear
from tilegym.ops.cutile.matmul import matmul
from tilegym.ops.cutile.moe import invoke_fused_moe_kernel
from tilegym.ops.cutile.moe_actgrad_bwd import moe_actgrad_bwd
from tilegym.ops.cutile.moe_align_block import moe_align_block_size
from tilegym.ops.cutile.splitk_reduce import splitk_reduce

from . import HALF_TYPES, Call, case, integers, normal

FLOAT = torch.float32
FP8 = torch.float8_e4m3fn
SHAPES = ((128, 256, 64), (512, 512, 512), (500, 300, 200), (4096, 1024, 512))


@case
def plain() -> Iterator[Call]:
    for m, n, k in SHAPES:
        for dtype in (*HALF_TYPES, FLOAT):
            for transposed_a, transposed_b in ((False, False), (False, True), (True, False), (True, True)):
                a = normal(*((k, m) if transposed_a else (m, k)), dtype=dtype)
                b = normal(*((n, k) if transposed_b else (k, n)), dtype=dtype)
                for persistent in (True,) if transposed_a or transposed_b else (False, True):
                    yield partial(matmul, a, b, transposed_a, transposed_b, static_persistent=persistent)
                    yield partial(
                        bmm,
                        a.unsqueeze(0).repeat(4, 1, 1),
                        b.unsqueeze(0).repeat(4, 1, 1),
                        transposed_a,
                        transposed_b,
                        static_persistent=persistent,
                    )


@case
def groups() -> Iterator[Call]:
    for transposed in (False, True):
        for shapes in (((128, 256, 64),) * 4, SHAPES, ((100, 60, 72), (36, 1000, 8))):
            yield partial(
                group_gemm,
                [normal(m, k, dtype=torch.float16) for m, _, k in shapes],
                [normal(*((n, k) if transposed else (k, n)), dtype=torch.float16) for _, n, k in shapes],
                transpose_b=transposed,
            )


@case
def quantised() -> Iterator[Call]:
    for m, n, k in ((64, 256, 512), (100, 384, 640), (4096, 7168, 2048)):
        a, b = normal(m, k, dtype=FP8), normal(n, k, dtype=FP8)
        scales = torch.rand(m, k // 128, device="cuda"), torch.rand(n // 128, k // 128, device="cuda")
        for dtype in HALF_TYPES:
            for use_tma in (True, False, None):
                yield partial(w8a8_block_fp8_matmul, a, b, *scales, output_dtype=dtype, use_tma=use_tma)


@case
def gated() -> Iterator[Call]:
    for m, k, hidden, n in ((128, 256, 512, 256), (512, 1024, 2048, 1024), (100, 72, 200, 40)):
        weights = normal(hidden, k), normal(hidden, k), normal(n, hidden)
        for activation in ("silu", "gelu", "relu"):
            yield partial(linear_gluact_linear, normal(m, k), *weights, activation)


@case
def split_k() -> Iterator[Call]:
    for batch, heads, splits, dim, length in ((2, 8, 4, 64, 1024), (3, 7, 5, 80, 1000), (4, 32, 32, 128, 8192)):
        partials, lse = normal(batch, heads, splits, dim), normal(batch, heads, splits, dtype=FLOAT)
        yield partial(
            splitk_reduce, partials, lse, torch.empty(batch, heads, dim, device="cuda", dtype=torch.bfloat16), length
        )


@case
def expert_alignment() -> Iterator[Call]:
    for tokens, topk, experts, block in ((16, 2, 8, 16), (100, 4, 60, 64), (4096, 8, 256, 128)):
        yield partial(moe_align_block_size, integers(0, experts, tokens, topk, dtype=torch.int32), block, experts)


def _aligned(ids: torch.Tensor, block: int, experts: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What ``moe_align_block_size`` computes: token numbers by expert, each expert padded to whole blocks, the expert
    of each block, and the padded number of tokens.  Its kernels do not run here, so the results are put in."""
    sorted_ids, expert_ids, padded = moe_align_block_size(ids, block, experts)[:3]
    flat, place = ids.reshape(-1), 0
    sorted_ids.fill_(flat.numel())
    for expert in range(experts):
        mine = torch.nonzero(flat == expert).reshape(-1)
        sorted_ids[place : place + len(mine)] = mine.to(sorted_ids.dtype)
        blocks = -(-len(mine) // block)
        expert_ids[place // block : place // block + blocks] = expert
        place += blocks * block
    padded.fill_(place)
    return sorted_ids, expert_ids, padded


def _mixture(tokens: int, topk: int, experts: int, n: int, k: int, quantised: bool, weighted: bool) -> None:
    ids = integers(0, experts, tokens, topk, dtype=torch.int32)
    tile_k = 128 if quantised else 64
    config = {"TILE_SIZE_M": 64, "TILE_SIZE_N": 128, "TILE_SIZE_K": tile_k, "GROUP_SIZE_M": 8}
    sorted_ids, expert_ids, padded = _aligned(ids, config["TILE_SIZE_M"], experts)
    dtype = FP8 if quantised else torch.bfloat16
    invoke_fused_moe_kernel(
        normal(tokens, k, dtype=dtype),
        normal(experts, n, k, dtype=dtype),
        torch.empty(tokens, topk, n, device="cuda", dtype=torch.bfloat16),
        torch.rand(tokens, -(-k // 128), device="cuda") if quantised else None,
        torch.rand(experts, -(-n // 128), -(-k // 128), device="cuda") if quantised else None,
        torch.rand(tokens, topk, device="cuda"),
        ids,
        sorted_ids,
        expert_ids,
        padded,
        weighted,
        topk,
        config,
        ct.bfloat16,
        quantised,
        block_shape=[128, 128] if quantised else None,
    )


@case
def mixtures() -> Iterator[Call]:
    for tokens, topk, experts, n, k in ((64, 2, 8, 256, 512), (100, 4, 60, 200, 320), (1024, 8, 64, 1024, 2048)):
        for weighted in (False, True):
            yield partial(_mixture, tokens, topk, experts, n, k, False, weighted)
            if n % 128 == 0:
                yield partial(_mixture, tokens, topk, experts, n, k, True, weighted)


@case
def mixture_gradients() -> Iterator[Call]:
    for experts, inner, hidden, rows, topk in ((8, 256, 512, 1024, 2), (4, 128, 4096, 512, 4)):
        offsets = torch.arange(experts + 1, device="cuda", dtype=torch.int32) * (rows // experts)
        gather = torch.arange(rows, device="cuda", dtype=torch.int32) // topk
        scatter = torch.randperm(rows, device="cuda").to(torch.int32)
        for activation in ("swiglu", "geglu", "reglu", "silu", "relu", "gelu", "relu_sq"):
            width = inner * (2 if activation.endswith("glu") else 1)
            yield partial(
                moe_actgrad_bwd,
                normal(rows // topk, hidden),
                normal(rows, width),
                normal(experts, inner, hidden),
                normal(rows, width),
                torch.zeros(rows, device="cuda"),
                None,
                None,
                normal(rows, inner),
                torch.rand(rows, device="cuda"),
                offsets,
                gather,
                scatter,
                activation,
            )
