"""Attention over several tokens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from benchmarks.real.calls import Call, case, normal, there_and_back
from liger_kernel.ops import LigerMultiTokenAttentionFunction


@case
def multi_token_attention() -> Iterator[Call]:
    shapes = ((1, 2, 1), (2, 4, 64), (1, 8, 127), (1, 2, 128), (2, 3, 200))
    for (batch, channels, length), sparse, kernel in product(shapes, (False, True), (1, 3)):
        for dtype in (torch.float32,) if sparse else (torch.float32, torch.bfloat16, torch.float16):
            yield there_and_back(
                LigerMultiTokenAttentionFunction.apply,
                normal(batch, channels, length, length, dtype=dtype, grad=True),
                normal(channels, channels, kernel, kernel, dtype=dtype, grad=True),
                None,
                1,
                kernel // 2,
                1,
                1,
                sparse,
            )
