"""Attention over all pairs: softmax, forgetting, sparse, stick-breaking, paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch
from benchmarks.real.calls import Call, case, normal

from . import SHAPES, Shape, operation
from .recurrent import _each, _run


@case
def softmax() -> Iterator[Call]:
    for shape in SHAPES:
        q, k, v = shape.x(), shape.x(), shape.x()
        yield from _each("ops:parallel_attn", shape, q, k, v)
        yield from _each("ops:parallel_attn", shape, q, k, v, window_size=16)
        yield from _each("ops:parallel_forgetting_attn", shape, q, k, v, shape.decay())
        yield from _each("ops:parallel_path_attn", shape, q, k, v, *_exact(shape))
        yield from _each("ops:parallel_stickbreaking_attn", shape, q, k, v)
        yield from _each("ops:parallel_parallax", shape, q, shape.x(), k, v)
        yield from _each("ops:parallel_wall_attn", shape, q, k, v, shape.decay(shape.dim))
    for shape in SHAPES[:3]:
        grouped = Shape(shape.batch, shape.length, 1, shape.dim, shape.dtype)
        yield from _each("ops:parallel_attn", shape, shape.x(), grouped.x(), grouped.x())


def _exact(shape: Shape) -> tuple[torch.Tensor, ...]:
    """Keys of reflections and their strengths, in f32, and decays."""
    exact = replace(shape, dtype=torch.float32)
    return exact.x(), exact.scalars(), exact.decay()


@case
def sparse() -> Iterator[Call]:
    for batch, length, dtype in ((2, 77, torch.float32), (1, 200, torch.bfloat16)):
        keys, queries = Shape(batch, length, 1, 64, dtype), Shape(batch, length, 16, 64, dtype)
        yield partial(
            _run, "ops:parallel_nsa", (queries.x(), keys.x(), keys.x(), *(queries.scalars() for _ in range(3))),
            {"block_counts": 2, "block_size": 32}, True,
        )  # fmt: skip


@case
def decoding() -> Iterator[Call]:
    ends = torch.tensor([0, 15, 77, 154], device="cuda")
    for heads, kv_heads, dtype in ((4, 4, torch.float32), (8, 2, torch.bfloat16)):
        q = normal(1, 3, heads, 64, dtype=dtype)
        k, v = (normal(1, 154, kv_heads, 64, dtype=dtype) for _ in range(2))
        yield partial(_run, "ops.attn.decoding:attn_decoding_one_step", (q, k, v), {"cu_seqlens": ends}, False)
        states = (normal(3, heads, 64, 64, dtype=torch.float32) for _ in range(2))
        token = Shape(3, 1, heads, 64, dtype)
        yield partial(
            operation("ops.mesa_net.decoding_one_step:mesa_net_decoding_one_step"),
            *(x.squeeze(1).detach() for x in (token.x(), token.x(), token.x(), token.decay())),
            normal(heads, 64, dtype=dtype), token.scalars().squeeze(1).detach(), *states,
        )  # fmt: skip
        full = Shape(2, 77, heads, 64, dtype)
        one = Shape(2, 1, heads, 64, dtype)
        for name in ("parallax_decode", "parallax_decode_one_step"):
            yield partial(_run, f"ops.parallax.decode:{name}", (one.x(), one.x(), full.x(), full.x()), {}, False)
