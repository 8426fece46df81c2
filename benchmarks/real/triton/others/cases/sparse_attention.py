"""adasplash: attention with entmax, in its three forms, and entmax itself."""

from __future__ import annotations

from collections.abc import Iterator

import adasplash
import torch
from adasplash.adasplash_no_block_mask import sparse_attn as without_block_mask
from adasplash.triton_entmax import triton_entmax as entmax_of_bisections
from adasplash.triton_entmax_v2 import triton_entmax as entmax_of_histograms
from benchmarks.real.calls import Call, case, normal, there_and_back

SHAPES = ((1, 2, 64, 64), (2, 3, 100, 64), (1, 2, 300, 32))
"""Batch, heads, length, dimension."""


def _qkv(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    return tuple(normal(*shape, dtype=dtype, grad=True) for _ in range(3))


@case
def attention() -> Iterator[Call]:
    for shape in SHAPES:
        lengths = torch.tensor([shape[2] - 7 * (i + 1) for i in range(shape[0])], dtype=torch.int32, device="cuda")
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            for varlen in (None, lengths):
                for causal in (False, True):
                    yield there_and_back(adasplash.adasplash_v1, *_qkv(shape, dtype), 1.5, causal, varlen, 5)
                    yield there_and_back(without_block_mask, *_qkv(shape, dtype), 1.333, causal, varlen, 5)
                yield there_and_back(adasplash.adasplash_v2, *_qkv(shape, dtype), 2, varlen)


@case
def entmax() -> Iterator[Call]:
    for rows, columns in ((1, 3), (37, 129), (5, 4100)):
        for dtype in (torch.float32, torch.bfloat16):
            for alpha, fast in ((1.5, True), (1.333, False)):
                x = normal(rows, columns, dtype=dtype, grad=True)
                yield there_and_back(entmax_of_bisections, x, alpha, 5, fast)
            for histogram in (True, False):
                x = normal(rows, columns, dtype=dtype, grad=True)
                yield there_and_back(entmax_of_histograms, x, 1.5, 2, histogram)
