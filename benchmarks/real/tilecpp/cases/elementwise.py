"""Activations, normalisations, softmax, dropout, rotary embedding."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from tilegym.ops.tilecpp.activation.geglu import geglu
from tilegym.ops.tilecpp.activation.gelu import gelu
from tilegym.ops.tilecpp.activation.relu import relu
from tilegym.ops.tilecpp.dropout import dropout
from tilegym.ops.tilecpp.layer_norm_legacy import layer_norm
from tilegym.ops.tilecpp.persistent_layer_norm import persistent_layer_norm
from tilegym.ops.tilecpp.rms_norm import rms_norm, rms_norm_backward
from tilegym.ops.tilecpp.rope import apply_rope_base
from tilegym.ops.tilecpp.silu_and_mul import silu_and_mul
from tilegym.ops.tilecpp.softmax import softmax
from tilegym.ops.tilecpp.swiglu import swiglu

from . import Call, case, normal, there_and_back

FLOAT, HALF = torch.float32, torch.bfloat16
ROWS = ((4, 128, HALF), (37, 1000, FLOAT), (2048, 256, HALF), (8, 16384, HALF))
"""Rows and columns, and what they hold."""


@case
def activations() -> Iterator[Call]:
    for rows, columns, dtype in ROWS:
        x = normal(rows, columns, dtype=dtype, grad=True)
        for approximate in ("none", "tanh"):
            yield there_and_back(geglu, x, -1, approximate)
            yield there_and_back(gelu, x, approximate)
        yield partial(relu, x.detach())
        for kind in ("row_wise", "default"):
            yield partial(silu_and_mul, x.detach(), kernel_type=kind)
        yield there_and_back(silu_and_mul, x)
        yield there_and_back(swiglu, x, normal(rows, columns, dtype=dtype, grad=True))
    yield there_and_back(geglu, normal(4, 64, 32, grad=True), 1, "none")
    yield partial(silu_and_mul, normal(3, 5, 512))


@case
def dropouts() -> Iterator[Call]:
    for rows, columns, dtype in ROWS:
        for inplace in (False, True):
            yield partial(dropout, normal(rows, columns, dtype=dtype), 42, 0.1, inplace=inplace)


@case
def layer_normalisations() -> Iterator[Call]:
    for rows, columns, dtype in ROWS:
        x = normal(rows, columns, dtype=dtype)
        weight, bias = normal(columns, dtype=dtype), normal(columns, dtype=dtype)
        yield partial(layer_norm, x, (columns,), weight, bias, 1e-5)
        yield partial(persistent_layer_norm, x, (columns,), weight, bias, 1e-5)
        statistics = normal(rows, dtype=FLOAT), torch.rand(rows, device="cuda")
        yield partial(persistent_layer_norm, x, (columns,), weight, bias, 1e-5, *statistics)


@case
def rms_normalisations() -> Iterator[Call]:
    for rows, columns, dtype in ROWS:
        weight = normal(columns, dtype=dtype, grad=True)
        for mode in ("static_persistent", "multi_wave_reload", "multi_wave_cached"):
            x = normal(rows, columns, dtype=dtype)
            yield partial(rms_norm, x, (columns,), weight.detach(), 1e-6, mode=mode)
        x = normal(rows, columns, dtype=dtype, grad=True)
        yield there_and_back(rms_norm, x, (columns,), weight, 1e-6)
        dy, rstd = normal(rows, columns, dtype=dtype), torch.rand(rows, device="cuda")
        yield partial(rms_norm_backward, x.detach(), dy, weight.detach(), rstd)


@case
def softmaxes() -> Iterator[Call]:
    for rows, columns, dtype in ROWS:
        for online in (False, True):
            yield there_and_back(softmax, normal(rows, columns, dtype=dtype, grad=True), use_online=online)
    yield there_and_back(softmax, normal(64, 40000, grad=True))


@case
def rotary_embeddings() -> Iterator[Call]:
    for batch, length, heads, kv_heads, dim in ((1, 128, 8, 2, 64), (2, 100, 6, 3, 80), (2, 1024, 32, 8, 128)):
        for factor in (1.0, 0.5):
            q = normal(batch, heads, length, dim, grad=True)
            k = normal(batch, kv_heads, length, dim, grad=True)
            for cos_batch in (1, batch):
                cos, sin = (normal(cos_batch, length, int(dim * factor)) for _ in range(2))
                yield there_and_back(apply_rope_base, q, k, cos, sin, partial_rotary_factor=factor)
