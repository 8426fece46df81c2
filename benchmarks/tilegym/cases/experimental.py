"""``tilegym.ops.cutile.experimental``: contributed kernels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from tilegym.ops.cutile.experimental.fused_linear_cross_entropy import fused_linear_cross_entropy
from tilegym.ops.cutile.experimental.mhc import mhc_apply_residual, mhc_gemm_rms_scale, mhc_sinkhorn
from tilegym.ops.cutile.experimental.nvfp4_quantize import tile_nvfp4_quantize
from tilegym.ops.cutile.experimental.sparse_mla import tile_sparse_mla
from tilegym.ops.cutile.experimental.swa_attention import tile_swa_attention

from . import Call, case, integers, normal

FLOAT = torch.float32


@case
def losses() -> Iterator[Call]:
    for rows, hidden, vocabulary in ((64, 256, 1000), (512, 512, 32000)):
        target = integers(0, vocabulary, rows)
        yield partial(fused_linear_cross_entropy, normal(rows, hidden), normal(vocabulary, hidden), target)


@case
def hyper_connections() -> Iterator[Call]:
    for rows, n, size in ((128, 4, 1024), (1000, 4, 4096)):
        x, width = normal(rows, n * size), n * n + 2 * n
        yield partial(mhc_gemm_rms_scale, x, normal(n * size, width), n, 0.5, 0.5, 0.5, normal(width, dtype=FLOAT))
        y = normal(rows, width, dtype=FLOAT)
        yield partial(mhc_apply_residual, x, normal(rows, size), y, n)
        yield partial(mhc_sinkhorn, y, n)


@case
def attention() -> Iterator[Call]:
    for batch, heads, kv_heads, length, dim in ((2, 8, 2, 1024, 128), (1, 4, 4, 500, 64)):
        q, k, v = (normal(batch, h, length, dim, dtype=torch.float16) for h in (heads, kv_heads, kv_heads))
        for window in (64, 4096):
            yield partial(tile_swa_attention, q, k, v, window)
    for batch, heads, length, topk in ((1, 16, 512, 128), (2, 32, 256, 64)):
        q, k, v = normal(batch, heads, length, 128), normal(batch, 1, length, 128), normal(batch, 1, length, 128)
        chosen = integers(0, length, batch, length, 1, topk, dtype=torch.int32)
        yield partial(tile_sparse_mla, q, k, v, chosen, normal(batch, heads, length, 64), normal(batch, 1, length, 64))


@case
def quantisation() -> Iterator[Call]:
    for rows, columns in ((128, 256), (1000, 4096)):
        for occupancy in (6, 2):
            yield partial(tile_nvfp4_quantize, normal(rows, columns), 1.0, occupancy)
