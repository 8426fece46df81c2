"""``tilegym.ops``: activations, normalisations, softmax, dropout, rotary embedding."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from tilegym.ops.cutile.activation.geglu import geglu
from tilegym.ops.cutile.activation.gelu import gelu
from tilegym.ops.cutile.activation.relu import relu
from tilegym.ops.cutile.dropout import dropout
from tilegym.ops.cutile.layer_norm import layer_norm
from tilegym.ops.cutile.layer_norm_legacy import layer_norm_legacy, persistent_layer_norm
from tilegym.ops.cutile.rms_norm import rms_norm, rms_norm_backward
from tilegym.ops.cutile.rope import apply_rope_base
from tilegym.ops.cutile.silu_and_mul import silu_and_mul
from tilegym.ops.cutile.softmax import softmax
from tilegym.ops.cutile.swiglu import swiglu
from tilegym.ops.cutile.transpose import transpose

from . import HALF_TYPES, Call, case, normal, there_and_back

ROWS = ((4, 128), (37, 1000), (128, 4096), (2048, 256), (8, 16384), (64, 40000))
FLOAT = torch.float32


@case
def activations() -> Iterator[Call]:
    for rows, columns in ROWS:
        for dtype in (*HALF_TYPES, FLOAT):
            x = normal(rows, columns, dtype=dtype, grad=True)
            for approximate in ("none", "tanh"):
                yield there_and_back(geglu, x, -1, approximate)
                yield there_and_back(gelu, x, approximate)
            yield partial(relu, x.detach())
            yield there_and_back(silu_and_mul, x)
            yield there_and_back(swiglu, x, normal(rows, columns, dtype=dtype, grad=True))
    yield there_and_back(geglu, normal(4, 64, 32, grad=True), 1, "none")


@case
def dropouts() -> Iterator[Call]:
    for rows, columns in ROWS:
        for inplace in (False, True):
            for probability in (0.1, 0.5):
                yield partial(dropout, normal(rows, columns), 42, probability, inplace=inplace)
        yield partial(dropout, normal(rows, columns), 42, training=False)


@case
def layer_normalisations() -> Iterator[Call]:
    for rows, columns in (*ROWS, (256, 5000)):
        for dtype in (torch.bfloat16, FLOAT):
            x = normal(rows, columns, dtype=dtype)
            weight, bias = normal(columns, dtype=dtype), normal(columns, dtype=dtype)
            yield partial(layer_norm, x, 1, 2, weight, bias, 1e-5)
            yield partial(layer_norm, normal(rows, 2, columns, dtype=dtype), 2, 3, weight, bias, 1e-5)
            yield partial(layer_norm, normal(rows, columns, 32, dtype=dtype), 1, 2, weight, bias, 1e-5)
            if columns * x.element_size() < 65536:
                yield partial(layer_norm_legacy, x, (columns,), weight, bias, 1e-5)
            if dtype is torch.bfloat16:
                yield partial(persistent_layer_norm, x, (columns,), weight, bias, 1e-5)
                statistics = normal(rows, dtype=FLOAT), torch.rand(rows, device="cuda")
                yield partial(persistent_layer_norm, x, (columns,), weight, bias, 1e-5, *statistics)


@case
def rms_normalisations() -> Iterator[Call]:
    for rows, columns in (*ROWS, (4096, 4096)):
        for dtype in (torch.bfloat16, FLOAT):
            weight = normal(columns, dtype=dtype, grad=True)
            for mode in (None, "static_persistent", "multi_wave_reload", "multi_wave_cached"):
                x = normal(rows, columns, dtype=dtype)
                yield partial(rms_norm, x, (columns,), weight.detach(), 1e-6, mode=mode)
            x = normal(rows, columns, dtype=dtype, grad=True)
            yield there_and_back(rms_norm, x, (columns,), weight, 1e-6)
            dy, rstd = normal(rows, columns, dtype=dtype), torch.rand(rows, device="cuda")
            yield partial(rms_norm_backward, x.detach(), dy, weight.detach(), rstd)


@case
def softmaxes() -> Iterator[Call]:
    for rows, columns in (*ROWS, (4096, 512), (2, 131072)):
        for dtype in (torch.bfloat16, FLOAT):
            for options in ({}, {"use_tma": True}, {"use_chunked": True}, {"use_multi_wave": True}):
                yield partial(softmax, normal(rows, columns, dtype=dtype), **options)


@case
def rotary_embeddings() -> Iterator[Call]:
    for batch, length, heads, kv_heads, dim in ((1, 128, 8, 2, 64), (2, 100, 6, 3, 80), (2, 1024, 32, 8, 128)):
        for factor in (1.0, 0.5):
            q, k = normal(batch, heads, length, dim), normal(batch, kv_heads, length, dim)
            for cos_batch in (1, batch):
                cos, sin = (normal(cos_batch, length, int(dim * factor)) for _ in range(2))
                yield partial(apply_rope_base, q, k, cos, sin, partial_rotary_factor=factor)


@case
def transpositions() -> Iterator[Call]:
    for rows, columns in ((64, 96), (1000, 513), (4096, 4096)):
        for dtype in (torch.bfloat16, FLOAT):
            for persistent in (True, False, None):
                yield partial(transpose, normal(rows, columns, dtype=dtype), static_persistent=persistent)
