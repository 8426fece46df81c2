"""Norms, losses, activations, convolutions, rotary embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import fla.modules as modules
import torch
from benchmarks.real.calls import Call, backward, case, integers, normal

from . import FLOATS, operation
from .recurrent import _run


def _apply(module: torch.nn.Module, dtype: torch.dtype, *arguments: torch.Tensor) -> None:
    backward(module.to(dtype)(*arguments))


@case
def norms() -> Iterator[Call]:
    for (rows, width), dtype in product(((1, 8), (15, 96), (33, 1000), (5, 2049), (300, 128)), FLOATS):
        x, gate, residual = (normal(1, rows, width, dtype=dtype, grad=True) for _ in range(3))
        for kind, affine in product((modules.RMSNorm, modules.LayerNorm), (True, False)):
            yield partial(_apply, kind(width, elementwise_affine=affine), dtype, x)
            yield partial(_apply, kind(width, bias=affine), dtype, x, residual)
        yield partial(_apply, modules.GroupNorm(2 if width % 2 == 0 else 1, width), dtype, x)
        for kind in (modules.FusedRMSNormGated, modules.FusedLayerNormGated):
            yield partial(_apply, kind(width), dtype, x, gate)
            yield partial(_apply, kind(width, elementwise_affine=False, activation="sigmoid"), dtype, x, gate)
        yield partial(_run, "modules.l2norm:l2_norm", (x,), {}, True)
        for kind in ("rms_norm_linear", "layer_norm_linear"):
            weights = normal(width, dtype=dtype, grad=True), normal(width, dtype=dtype, grad=True)
            yield partial(
                _run,
                f"modules.layernorm:{kind}",
                (x, *weights, normal(64, width, dtype=dtype, grad=True), None),
                {},
                True,
            )


@case
def losses() -> Iterator[Call]:
    for (rows, words), dtype in product(((1, 3), (7, 1000), (33, 4097), (3, 70000)), FLOATS):
        target = integers(0, words, rows)
        for options in ({}, {"label_smoothing": 0.1}, {"reduction": "none"}):
            yield partial(
                backward_of,
                modules.FusedCrossEntropyLoss(**options),
                normal(rows, words, dtype=dtype, grad=True),
                target,
            )
        weight = normal(words, 96, dtype=dtype, grad=True)
        for smoothing in (0.0, 0.1):
            loss = modules.FusedLinearCrossEntropyLoss(label_smoothing=smoothing)
            yield partial(backward_of, loss, normal(1, rows, 96, dtype=dtype, grad=True), target[None], weight)
        student, teacher = normal(rows, 96, dtype=dtype, grad=True), normal(rows, 96, dtype=dtype)
        yield partial(backward_of, modules.FusedKLDivLoss(), student, teacher, weight, weight.detach().clone())
        labels = integers(0, words, rows)
        yield partial(
            _run,
            "modules.grpo:fused_grpo_loss",
            (normal(1, rows + 1, words, dtype=dtype, grad=True), normal(1, rows), labels[None], normal(1)),
            {},
            True,
        )


def backward_of(loss: torch.nn.Module, *arguments: torch.Tensor) -> None:
    backward(loss(*arguments))


@case
def activations() -> Iterator[Call]:
    for (rows, width), dtype in product(((1, 1), (15, 96), (33, 1025)), FLOATS):
        x, y = (normal(rows, width, dtype=dtype, grad=True) for _ in range(2))
        for name in ("sigmoid", "logsigmoid", "swish", "fast_gelu_impl_", "sqrelu_", "gelu_impl_"):
            if not name.endswith("_"):
                yield partial(_run, f"modules.activations:{name}", (x,), {}, True)
        for name in ("swiglu", "powglu"):
            yield partial(_run, f"modules.activations:{name}", (x, y), {}, True)
        weight = normal(64, width, dtype=dtype, grad=True)
        yield partial(_run, "modules.activations:swiglu_linear", (x, y, weight, None), {}, True)


@case
def sequences() -> Iterator[Call]:
    ends = torch.tensor([0, 15, 77, 154], device="cuda")
    for (batch, length, width), dtype in product(((2, 33, 96), (1, 154, 200)), FLOATS):
        x = normal(batch, length, width, dtype=dtype, grad=True)
        options = [{}] if batch != 1 else [{}, {"cu_seqlens": ends}]
        for more in options:
            yield partial(_run, "modules.token_shift:token_shift", (x,), more, True)
            for activation, bias in product((None, "silu"), (True, False)):
                conv = modules.ShortConvolution(width, 4, bias=bias, activation=activation, backend="triton").to(dtype)
                yield partial(_first, conv, x, more)
                cached = {"output_final_state": True} if more else {"residual": x, "output_final_state": True}
                yield partial(_first, conv, x, {**more, **cached})
        step = modules.ShortConvolution(width, 4, activation="silu", backend="triton").to(dtype)
        yield partial(_step, step, normal(batch, 1, width, dtype=dtype), normal(batch, width, 4, dtype=dtype))
        q, k = (normal(2, length, 3, 64, dtype=dtype, grad=True) for _ in range(2))
        for interleaved in (False, True):
            yield partial(_apply, modules.RotaryEmbedding(64, interleaved=interleaved), dtype, q, k)


def _first(module: torch.nn.Module, x: torch.Tensor, options: dict[str, torch.Tensor]) -> None:
    backward(module(x, **options)[0])


def _step(module: torch.nn.Module, x: torch.Tensor, cache: torch.Tensor) -> None:
    with torch.no_grad():
        operation("modules.convolution:causal_conv1d_update")(x, cache, weight=module.weight.squeeze(1))
