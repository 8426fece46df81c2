"""Rotary embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from benchmarks.real.calls import Call, case, normal, there_and_back
from liger_kernel.ops import LigerLlama4RopeFunction, LigerQwen2VLMRopeFunction, LigerRopeFunction

from . import FLOATS

SHAPES = (
    (1, 1, 1, 1, 2),
    (1, 128, 8, 2, 64),
    (2, 100, 6, 3, 80),
    (2, 33, 32, 8, 128),
    (3, 5, 12, 12, 96),
    (1, 17, 4, 1, 256),
)
"""Batch, length, heads, heads of the keys, dimension."""


@case
def rope() -> Iterator[Call]:
    for (batch, length, heads, kv_heads, dim), dtype in product(SHAPES, FLOATS):
        for cos_batch, contiguous in product({1, batch}, (True, False)):
            q, k = (_heads(batch, length, count, dim, dtype, contiguous) for count in (heads, kv_heads))
            cos, sin = (normal(cos_batch, length, dim, dtype=dtype) for _ in range(2))
            yield there_and_back(LigerRopeFunction.apply, q, k, cos, sin)


def _heads(batch: int, length: int, heads: int, dim: int, dtype: torch.dtype, contiguous: bool) -> torch.Tensor:
    """``[batch, heads, length, dim]``; as projections give it, heads inside of positions, unless ``contiguous``."""
    if contiguous:
        return normal(batch, heads, length, dim, dtype=dtype, grad=True)
    return normal(batch, length, heads, dim, dtype=dtype).transpose(1, 2).requires_grad_()


@case
def rope_of_three_axes() -> Iterator[Call]:
    for (batch, length, heads, kv_heads, dim), dtype in product(SHAPES[1:], FLOATS):
        q, k = (_heads(batch, length, count, dim, dtype, contiguous=False) for count in (heads, kv_heads))
        cos, sin = (normal(3, batch, length, dim, dtype=dtype) for _ in range(2))
        sections = [dim // 8, dim // 8 + dim // 16, dim // 2 - dim // 8 - dim // 8 - dim // 16]
        yield there_and_back(LigerQwen2VLMRopeFunction.apply, q, k, cos, sin, sections)


@case
def rope_of_llama4() -> Iterator[Call]:
    for (batch, length, heads, kv_heads, dim), dtype in product(SHAPES, FLOATS):
        phases = torch.polar(*(f(length, dim // 2, device="cuda") for f in (torch.ones, torch.rand)))
        yield there_and_back(
            LigerLlama4RopeFunction.apply,
            normal(batch, length, heads, dim, dtype=dtype, grad=True),
            normal(batch, length, kv_heads, dim, dtype=dtype, grad=True),
            phases,
        )
