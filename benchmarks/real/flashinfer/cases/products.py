"""Matrix products: plain, batched, masked, ragged, grouped, with scales."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import torch
from benchmarks.real.calls import Call, case, normal
from flashinfer.gemm.kernels.cutile import (
    gemm_alpha_beta,
    masked_bmm,
    masked_scaled_bmm,
    ragged_block_scaled_bmm,
    ragged_bmm,
    ragged_scaled_bmm,
)
from flashinfer.gemm.kernels.cutile.bmm_bf16_cutile import bmm_bf16_cutile
from flashinfer.gemm.kernels.cutile.gemm_fp8_nt_groupwise_cutile import (
    _w8a8_autotune_and_launch,
    gemm_fp8_nt_groupwise_cutile,
    group_gemm_fp8_nt_groupwise_cutile,
)
from flashinfer.gemm.kernels.cutile.mm_bf16_cutile import mm_bf16_cutile

from . import FLOAT, FP8, lengths, offsets

OUTPUTS = (torch.bfloat16, torch.float16, torch.float32)
SIZES = ((1, 8, 16), (128, 256, 64), (129, 300, 200), (2048, 1024, 512))
"""M, N, K."""


@case
def plain() -> Iterator[Call]:
    for (m, n, k), dtype, tuned in product(SIZES, OUTPUTS, (True, False)):
        out = torch.empty(m, n, device="cuda", dtype=dtype)
        yield partial(mm_bf16_cutile, normal(m, k), normal(n, k).t(), out, use_autotune=tuned)
    for (m, n, k), (transposed_a, transposed_b), tuned in product(
        SIZES[1:], ((False, True), (True, False)), (True, False)
    ):
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


@case
def batched() -> Iterator[Call]:
    for (m, n, k), batch, dtype in product(SIZES[:3], (1, 5), OUTPUTS):
        out = torch.empty(batch, m, n, device="cuda", dtype=dtype)
        yield partial(bmm_bf16_cutile, normal(batch, m, k), normal(batch, n, k).transpose(1, 2), out)


@case
def masked() -> Iterator[Call]:
    for (batch, m, n, k), transposed in product(((1, 16, 16, 16), (4, 128, 256, 64), (3, 100, 200, 72)), (False, True)):
        b = normal(*((batch, n, k) if transposed else (batch, k, n)))
        rows = lengths(*(max(1, m - 7 * i) for i in range(batch)))
        yield partial(masked_bmm, normal(batch, m, k), b, rows, transpose_b=transposed)


@case
def ragged() -> Iterator[Call]:
    for (batch, m, n, k), transposed in product(((1, 16, 16, 16), (4, 128, 256, 64), (3, 500, 200, 72)), (False, True)):
        b = normal(*((batch, n, k) if transposed else (batch, k, n)))
        ends = offsets(lengths(*(max(1, m - 7 * i) for i in range(batch))))
        yield partial(ragged_bmm, normal(int(ends[-1]), k), b, ends, m, transpose_b=transposed)
    for aligned in (128, 256):
        ends = offsets(lengths(aligned, 0, 3 * aligned, 2 * aligned))
        total = int(ends[-1])
        for n, k in ((256, 256), (512, 384)):
            for scaled in (True, False):
                yield partial(
                    ragged_block_scaled_bmm,
                    normal(total, k, dtype=FP8),
                    normal(4, n, k, dtype=FP8),
                    torch.rand(total, k // 128, device="cuda") if scaled else None,
                    torch.rand(4, n // 128, k // 128, device="cuda"),
                    ends,
                    3 * aligned,
                    segment_alignment=aligned,
                )


def _packed(rows: tuple[int, ...], k: int, elements: int) -> torch.Tensor:
    """FP8 numbers, or pairs of FP4 in bytes."""
    if elements == 1:
        return normal(*rows, k, dtype=FP8)
    return torch.randint(0, 256, (*rows, k // 2), device="cuda", dtype=torch.uint8)


@case
def block_scaled() -> Iterator[Call]:
    """Scales in the swizzled layout of the tensor cores."""
    for kind, elements_a, elements_b, vector in (
        ("mxfp8", 1, 1, 32),
        ("mxfp4", 2, 2, 32),
        ("nvfp4", 2, 2, 16),
        ("mixed", 1, 2, 32),
    ):
        for batch, m, n, k in ((2, 128, 128, 256), (3, 256, 384, 512)):
            steps = k // (4 * vector)
            b = _packed((batch, n), k, elements_b)
            b_scale = torch.randint(0, 255, (batch, n // 128, steps, 2, 256), device="cuda", dtype=torch.uint8)
            yield partial(
                masked_scaled_bmm,
                _packed((batch, m), k, elements_a),
                b,
                torch.randint(0, 255, (batch, m // 128, steps, 2, 256), device="cuda", dtype=torch.uint8),
                b_scale,
                lengths(*(m - 9 * i for i in range(batch))),
                kind,
            )
            ends = offsets(lengths(*(128 * (1 + i % 2) for i in range(batch))))
            total = int(ends[-1])
            for scalars in (False, True):
                yield partial(
                    ragged_scaled_bmm,
                    _packed((total,), k, elements_a),
                    b,
                    torch.randint(0, 255, (total // 128, steps, 2, 256), device="cuda", dtype=torch.uint8),
                    b_scale,
                    ends,
                    256,
                    kind,
                    a_global_scale=torch.rand((), device="cuda") if scalars else None,
                    b_global_scale=torch.rand(batch, device="cuda") if scalars else None,
                )


@case
def groupwise() -> Iterator[Call]:
    for (m, n, k), dtype in product(((1, 128, 128), (100, 256, 512), (300, 384, 7168)), OUTPUTS):
        yield partial(
            gemm_fp8_nt_groupwise_cutile,
            normal(m, k, dtype=FP8),
            normal(n, k, dtype=FP8),
            torch.rand(m, k // 128, device="cuda"),
            torch.rand(n // 128, k // 128, device="cuda"),
            torch.empty(m, n, device="cuda", dtype=dtype),
        )
    for sizes, alignment in (((5, 0, 120), 1), ((128, 256, 128), 128)):
        ends = offsets(lengths(*sizes))
        total = int(ends[-1])
        for (n, k), dtype in product(((128, 128), (384, 512)), OUTPUTS):
            yield partial(
                group_gemm_fp8_nt_groupwise_cutile,
                normal(total, k, dtype=FP8),
                normal(3, n, k, dtype=FP8),
                torch.rand(total, k // 128, device="cuda", dtype=FLOAT),
                torch.rand(3, n // 128, k // 128, device="cuda", dtype=FLOAT),
                ends,
                torch.empty(total, n, device="cuda", dtype=dtype),
                segment_alignment=alignment,
            )


@case
def groupwise_by_gathers() -> Iterator[Call]:
    """A form of the kernel that its host function has, and nothing asks for."""
    for m, n, k in ((1, 128, 128), (100, 256, 512), (300, 384, 7168)):
        yield partial(
            _w8a8_autotune_and_launch,
            torch.cuda.current_stream(),
            normal(m, k, dtype=FP8),
            normal(n, k, dtype=FP8),
            torch.empty(m, n, device="cuda", dtype=torch.bfloat16),
            torch.rand(m, k // 128, device="cuda"),
            torch.rand(n // 128, k // 128, device="cuda"),
            m,
            n,
            k,
            128,
            128,
            2,  # the number that stands for bfloat16
            use_tma=False,
        )
