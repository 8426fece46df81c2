"""Linear attention in its many forms: in chunks, step by step, fused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from benchmarks.real.calls import Call, backward, case, normal

from . import SHAPES, Shape, operation


def _run(path: str, arguments: tuple[Any, ...], options: dict[str, Any], back: bool) -> None:
    if back:
        backward(operation(path)(*arguments, **options))
        return
    with torch.no_grad():
        operation(path)(*arguments, **options)


def _each(paths: str, shape: Shape, *arguments: Any, back: bool = True, **options: Any) -> Iterator[Call]:
    for path in paths.split():
        yield partial(_run, path, arguments, {**shape.options, **options}, back)


def _qkv(shape: Shape) -> tuple[torch.Tensor, ...]:
    return shape.x(), shape.x(), shape.x()


def _equal(shapes: tuple[Shape, ...] = SHAPES) -> Iterator[Shape]:
    return (shape for shape in shapes if not shape.ends)


@case
def retention() -> Iterator[Call]:
    for shape in SHAPES:
        yield from _each("ops:chunk_retention ops:fused_recurrent_retention", shape, *_qkv(shape))
        yield from _each("ops:fused_chunk_retention ops:parallel_retention", shape, *_qkv(shape))
        for path in ("ops:chunk_lightning_attn", "ops:fused_recurrent_lightning_attn"):
            yield from _each(path, shape, *_qkv(shape), 1, 4)
        yield from _each("ops:chunk_linear_attn ops:fused_chunk_linear_attn", shape, *_qkv(shape))
        yield from _each("ops:fused_recurrent_linear_attn", shape, *_qkv(shape))


@case
def gated() -> Iterator[Call]:
    for shape in SHAPES:
        yield from _each("ops:chunk_gla", shape, *_qkv(shape), shape.decay(shape.dim))
        yield from _each("ops:fused_recurrent_gla", shape, *_qkv(shape), gk=shape.decay(shape.dim))
        for path in ("chunk", "fused_chunk", "fused_recurrent", "parallel"):
            yield from _each(f"ops:{path}_simple_gla", shape, *_qkv(shape), g=shape.decay())
        slots = normal(shape.batch, shape.length, shape.heads, 32, dtype=shape.dtype).softmax(-1).detach()
        for path in ("ops:chunk_gsa", "ops:fused_recurrent_gsa"):
            yield from _each(path, shape, *_qkv(shape), slots.requires_grad_(), shape.decay(32))
        yield from _each(
            "ops:chunk_rwkv6 ops:fused_recurrent_rwkv6",
            shape,
            *_qkv(shape),
            shape.decay(shape.dim),
            normal(shape.heads, shape.dim, dtype=shape.dtype, grad=True),
        )
    for shape in _equal():
        yield from _each(
            "ops.hgrn.chunk:chunk_hgrn ops:fused_recurrent_hgrn",
            shape,
            shape.x().flatten(2).detach().requires_grad_(),
            shape.decay(shape.dim).flatten(2).detach().requires_grad_(),
        )
        yield from _each("ops:chunk_abc", shape, *_qkv(shape), shape.x(32))


@case
def delta_rules() -> Iterator[Call]:
    for shape in (SHAPES[1], SHAPES[4]):
        q, k, v = _qkv(shape)
        g, gk, beta = shape.decay(), shape.decay(shape.dim), shape.scalars()
        state = normal(max(shape.batch, len(shape.ends)), shape.heads, shape.dim, shape.dim, dtype=torch.float32)
        more: tuple[dict[str, Any], ...] = ({}, {"initial_state": state, "output_final_state": True})
        for options in more:
            yield from _each("ops:chunk_gated_delta_rule", shape, q, k, v, g, beta, **options)
            yield from _each(
                "ops:fused_recurrent_gated_delta_rule", shape, q, k, v, g, beta=beta, back=False, **options
            )
            yield from _each("ops:fused_recurrent_delta_rule", shape, q, k, v, beta, **options)
            yield from _each("ops:chunk_kda", shape, q, k, v, gk, beta, **options)
            yield from _each("ops:fused_recurrent_kda", shape, q, k, v, gk, beta, back=False, **options)
            yield from _each("ops:chunk_comba", shape, q, k, v, shape.x(), g, beta, **options)
            yield from _each("ops:fused_recurrent_comba", shape, q, k, v, shape.x(), g, beta, back=False, **options)
        yield from _each("ops:chunk_delta_rule", shape, q, k, v, beta)
        yield from _each("ops.gated_oja_rule.chunk:chunk_gated_oja_rule", shape, q, k, v, gk, beta)
        yield from _each(
            "ops.gated_oja_rule.fused_recurrent:fused_recurrent_gated_oja_rule", shape, q, k, v, gk, beta, back=False
        )
        a, b = shape.x(), shape.x()
        yield from _each("ops:chunk_iplr_delta_rule", shape, q, k, v, a, b, back=False)
        yield from _each("ops:fused_recurrent_iplr_delta_rule", shape, q, k, v, a, b)
        yield from _each("ops:chunk_dplr_delta_rule", shape, q, k, v, a, b, gk)
        yield from _each("ops:fused_recurrent_dplr_delta_rule", shape, q, k, v, a, b, gk, back=False)
        yield from _each("ops:chunk_rwkv7", shape, q, gk, k, v, a, b)
        yield from _each(
            "ops:fused_recurrent_rwkv7 ops.rwkv7.fused_recurrent:fused_mul_recurrent_rwkv7",
            shape,
            q,
            gk,
            k,
            v,
            a,
            b,
            back=False,
        )
        yield from _each(
            "ops:chunk_mesa_net", shape, q, k, v, g, beta, normal(shape.heads, shape.dim, dtype=shape.dtype, grad=True)
        )
        householder = Shape(shape.batch, 2 * shape.length, shape.heads, shape.dim, shape.dtype)
        yield from _each(
            "ops.gated_delta_product:chunk_gated_delta_product",
            shape,
            q,
            householder.x(),
            householder.x(),
            g,
            householder.scalars(),
            2,
        )
        yield from _each("ops:chunk_precond_gated_delta_rule", shape, q, k, v, g, g, beta, beta)
        yield from _each(
            "ops:fused_recurrent_precond_gated_delta_rule",
            shape,
            q,
            k,
            v,
            g=g,
            beta=beta,
            g_atk=g,
            beta_atk=beta,
            back=False,
        )
        yield from _each("ops:chunk_precond_kda", shape, q, k, v, gk, g, beta, beta)
        yield from _each("ops:fused_recurrent_precond_kda", shape, q, k, v, gk, g, beta, beta, back=False)
        yield from _each("ops:chunk_momentum_delta_rule", shape, q, k, v, beta, beta, g)
        for path in ("ops.gdn2:chunk_gdn2", "ops.gdn2:fused_recurrent_gdn2"):
            yield from _each(
                path,
                shape,
                q,
                k,
                v,
                gk,
                shape.x().sigmoid().detach(),
                shape.x().sigmoid().detach(),
                back=path.endswith("chunk_gdn2"),
            )


@case
def small_keys() -> Iterator[Call]:
    for shape in _equal():
        yield from _each("ops:fused_chunk_based ops:parallel_based", shape, shape.x(16), shape.x(16), shape.x(64))
        yield from _each("ops.rebased:parallel_rebased", shape, shape.x(16), shape.x(16), shape.x(64))
        w, b = (normal(shape.heads, shape.dim, dtype=shape.dtype, grad=True) for _ in range(2))
        eta = shape.x(1)
        for path in ("ops.ttt:chunk_ttt_linear", "ops.ttt:fused_chunk_ttt_linear"):
            yield from _each(path, shape, *_qkv(shape), w, b, eta, chunk_size=16)


@case
def others() -> Iterator[Call]:
    for shape in SHAPES:
        levels = torch.rand(shape.batch, shape.length, shape.heads, 10, device="cuda").to(shape.dtype)
        one = Shape(shape.batch, shape.length, 1, shape.dim, shape.dtype, shape.ends)
        yield from _each(
            "ops:chunk_log_linear_attn", shape, one.x(), one.x(), shape.x(), shape.decay(), levels.requires_grad_()
        )
    for batch, length, channels in ((2, 77, 96), (1, 130, 64)):
        w, u = normal(channels, dtype=torch.float32, grad=True), normal(channels, dtype=torch.float32, grad=True)
        k, v = (normal(batch, length, channels, dtype=torch.float32, grad=True) for _ in range(2))
        state = normal(batch, 3, 1, channels, dtype=torch.float32, grad=True)
        yield partial(_run, "ops.rwkv4:fused_recurrent_rwkv4", (w, u, k, v, state), {}, True)
    for shape in _equal():
        x, delta = (normal(shape.batch, shape.length, 96, dtype=shape.dtype, grad=True) for _ in range(2))
        mixes = [normal(1, 1, 96, dtype=shape.dtype, grad=True) for _ in range(6)]
        yield partial(_run, "ops.rwkv7.fused_addcmul:fused_addcmul_rwkv7", (x, delta, *mixes), {}, True)
        yield partial(_run, "ops.rwkv7.fused_addcmul:fused_addcmul_rwkv7", (x, delta, *mixes[:5]), {}, True)
        flat = normal(shape.batch, shape.length, 192, dtype=shape.dtype, grad=True)
        yield partial(
            _run,
            "ops.rwkv7.fused_k_update:fused_k_rwkv7",
            (flat, flat.detach().clone().requires_grad_(), normal(192, dtype=shape.dtype, grad=True)),
            {},
            True,
        )
        yield partial(
            _run,
            "ops.rwkv7.gate_output_correction:gate_output_correction",
            (
                flat,
                shape.x(),
                shape.x(),
                normal(shape.heads, shape.dim, dtype=shape.dtype, grad=True),
                shape.x(),
                flat.detach().clone().requires_grad_(),
            ),
            {},
            True,
        )
        yield partial(
            _run,
            "ops.rwkv7.channel_mixing:channel_mixing_rwkv7",
            (
                x,
                normal(shape.batch, 96, dtype=shape.dtype),
                normal(96, dtype=shape.dtype, grad=True),
                normal(96, 200, dtype=shape.dtype, grad=True),
                normal(200, 96, dtype=shape.dtype, grad=True),
            ),
            {},
            True,
        )
        yield partial(
            _run,
            "ops.utils.matmul:matmul",
            (normal(77, 33, dtype=shape.dtype), normal(33, 65, dtype=shape.dtype)),
            {},
            False,
        )
        yield partial(
            _run,
            "ops.utils.matmul:addmm",
            (normal(77, 65, dtype=shape.dtype), normal(77, 33, dtype=shape.dtype), normal(33, 65, dtype=shape.dtype)),
            {"alpha": 0.5, "beta": 2.0},
            False,
        )
        yield partial(_run, "ops.utils.softmax:softmax_fwd", (normal(7, 100, dtype=shape.dtype),), {}, False)
        yield partial(
            _run,
            "ops.utils.softmax:softmax_bwd",
            (normal(7, 100, dtype=shape.dtype), normal(7, 100, dtype=shape.dtype)),
            {},
            False,
        )
        yield partial(_run, "ops.utils.logsumexp:logsumexp_fwd", (normal(7, 100, dtype=shape.dtype),), {}, False)
        for reverse in (False, True):
            yield partial(_run, "ops.utils.cumsum:chunk_global_cumsum", (shape.scalars().detach(), reverse), {}, False)
            yield partial(_run, "ops.utils.cumsum:chunk_global_cumsum", (shape.x(grad=False), reverse), {}, False)
        yield partial(_run, "ops.utils.pooling:mean_pooling", (shape.x(), 16), {}, True)
        yield partial(
            _run,
            "ops.utils.sinkhorn.ops:sinkhorn",
            (normal(2, 33, 4, 4, dtype=torch.float32, grad=True),),
            {"num_iters": 5},
            True,
        )
        yield partial(
            _run,
            "ops.kda.gate:fused_kda_gate",
            (
                shape.x(),
                normal(shape.heads, dtype=torch.float32, grad=True),
                normal(shape.heads * shape.dim, dtype=torch.float32, grad=True),
            ),
            {},
            True,
        )
        yield partial(
            _run,
            "ops.gated_delta_rule.gate:fused_gdn_gate",
            (
                shape.scalars(),
                normal(shape.heads, dtype=torch.float32, grad=True),
                normal(shape.heads, dtype=torch.float32, grad=True),
            ),
            {},
            True,
        )
        residuals = [normal(shape.batch, shape.length, 96, dtype=shape.dtype, grad=True) for _ in range(4)]
        yield partial(
            _run,
            "ops:fused_attnres",
            (normal(96, dtype=shape.dtype, grad=True), residuals, normal(96, dtype=shape.dtype, grad=True)),
            {},
            True,
        )
    ends = torch.tensor([0, 15, 77, 154], device="cuda")
    for side in ("left", "right"):
        yield partial(
            _run, "ops.utils.pack:pack_sequence", (normal(3, 77, 96, grad=True), ends), {"padding_side": side}, True
        )
        yield partial(
            _run, "ops.utils.pack:unpack_sequence", (normal(154, 96, grad=True), ends), {"padding_side": side}, True
        )
