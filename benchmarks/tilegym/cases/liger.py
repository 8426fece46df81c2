"""``tilegym.suites.liger``: losses, normalisations and activations for training."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from tilegym.suites.liger.cutile.cross_entropy import cross_entropy
from tilegym.suites.liger.cutile.dyt import dyt
from tilegym.suites.liger.cutile.fused_add_rms_norm import fused_add_rms_norm
from tilegym.suites.liger.cutile.fused_linear_cross_entropy import fused_linear_cross_entropy
from tilegym.suites.liger.cutile.fused_linear_jsd import fused_linear_jsd
from tilegym.suites.liger.cutile.fused_neighborhood_attention import fused_neighborhood_attention
from tilegym.suites.liger.cutile.geglu import geglu
from tilegym.suites.liger.cutile.group_norm import group_norm
from tilegym.suites.liger.cutile.grpo_loss import grpo_loss
from tilegym.suites.liger.cutile.jsd import jsd
from tilegym.suites.liger.cutile.kl_div import kl_div
from tilegym.suites.liger.cutile.layer_norm import layer_norm
from tilegym.suites.liger.cutile.llama4_rope import llama4_rope
from tilegym.suites.liger.cutile.modulated_rms_norm import modulated_rms_norm
from tilegym.suites.liger.cutile.multi_token_attention import multi_token_attention
from tilegym.suites.liger.cutile.poly_norm import poly_norm
from tilegym.suites.liger.cutile.qwen2vl_mrope import qwen2vl_mrope
from tilegym.suites.liger.cutile.relu_squared import relu_squared
from tilegym.suites.liger.cutile.rms_norm import rms_norm
from tilegym.suites.liger.cutile.rope import rope
from tilegym.suites.liger.cutile.softmax import softmax
from tilegym.suites.liger.cutile.sparsemax import sparsemax
from tilegym.suites.liger.cutile.swiglu import swiglu
from tilegym.suites.liger.cutile.tiled_mlp import tiled_mlp
from tilegym.suites.liger.cutile.tvd import tvd

from . import HALF_TYPES, Call, case, integers, normal, there_and_back

ROWS = ((4, 128), (37, 1000), (128, 4096), (16, 8192), (8, 16384), (4, 40000))
FLOAT = torch.float32


def _log_probabilities(rows: int, columns: int, grad: bool = False) -> torch.Tensor:
    values = torch.log_softmax(normal(rows, columns, dtype=FLOAT), dim=-1)
    return values.detach().requires_grad_() if grad else values


@case
def cross_entropy_loss() -> Iterator[Call]:
    for rows, columns in ((64, 1000), (128, 32000), (32, 128256)):
        for options in (
            {},
            {"label_smoothing": 0.1, "reduction": "sum"},
            {"softcap": 30.0, "lse_square_scale": 1e-4, "return_z_loss": True},
            {"weight": torch.rand(columns, device="cuda"), "reduction": "none"},
            {"return_token_accuracy": True, "return_predicted_tokens": True},
        ):
            yield there_and_back(cross_entropy, normal(rows, columns, grad=True), integers(0, columns, rows), **options)


@case
def dynamic_tanh() -> Iterator[Call]:
    for rows, columns in ROWS:
        for with_beta in (True, False):
            beta = normal(columns, grad=True) if with_beta else None
            yield there_and_back(
                dyt, normal(rows, columns, grad=True), normal(1, grad=True), normal(columns, grad=True), beta
            )


@case
def add_rms_norm() -> Iterator[Call]:
    for rows, columns in ROWS:
        for mode in ("llama", "gemma"):
            x, residual, weight = (
                normal(rows, columns, grad=True),
                normal(rows, columns, grad=True),
                normal(columns, grad=True),
            )
            yield there_and_back(fused_add_rms_norm, x, residual, weight, casting_mode=mode)


@case
def linear_cross_entropy() -> Iterator[Call]:
    for rows, hidden, vocabulary in ((64, 256, 1000), (512, 512, 32000)):
        x, weight = normal(rows, hidden, grad=True), normal(vocabulary, hidden, grad=True)
        yield there_and_back(fused_linear_cross_entropy, x, weight, integers(0, vocabulary, rows))


@case
def linear_jsd() -> Iterator[Call]:
    for rows, hidden, vocabulary in ((64, 256, 1000), (256, 512, 32000)):
        for labels in (None, integers(0, vocabulary, rows)):
            yield there_and_back(
                fused_linear_jsd,
                normal(rows, hidden, grad=True),
                normal(vocabulary, hidden, grad=True),
                normal(rows, 2 * hidden),
                normal(vocabulary, 2 * hidden),
                labels,
            )


@case
def neighborhood_attention() -> Iterator[Call]:
    for batch, heads, length, dim, window in ((1, 2, 128, 64, 7), (2, 4, 500, 128, 13)):
        for dilation in (1, 2):
            q, k, v = (normal(batch, heads, length, dim, grad=True) for _ in range(3))
            yield there_and_back(
                fused_neighborhood_attention,
                q,
                k,
                v,
                kernel_size=window,
                dilation=dilation,
            )


@case
def gated_units() -> Iterator[Call]:
    for rows, columns in ROWS:
        for dtype in (*HALF_TYPES, FLOAT):
            for unit in (geglu, swiglu):
                yield there_and_back(
                    unit, normal(rows, columns, dtype=dtype, grad=True), normal(rows, columns, dtype=dtype, grad=True)
                )
            yield there_and_back(relu_squared, normal(rows, columns, dtype=dtype, grad=True))
    yield there_and_back(swiglu, normal(64, 512, grad=True), normal(64, 512, grad=True), 0.7, 1.3)


@case
def group_normalisation() -> Iterator[Call]:
    for batch, channels, groups, length in ((2, 32, 4, 64), (4, 12, 3, 100), (2, 64, 64, 4096)):
        yield there_and_back(
            group_norm,
            normal(batch, channels, length, dtype=FLOAT, grad=True),
            channels,
            groups,
            normal(channels, dtype=FLOAT, grad=True),
            normal(channels, dtype=FLOAT, grad=True),
            1e-5,
        )


@case
def policy_optimisation() -> Iterator[Call]:
    for batch, length, vocabulary in ((2, 16, 1024), (4, 64, 32000)):
        for options in (
            {},
            {"beta": 0.04, "loss_type": "dapo"},
            {"loss_type": "bnpo", "reduce": True},
            {"loss_type": "cispo", "reduce": True},
            {"importance_sampling_level": "sequence", "beta": 0.04},
            {"importance_sampling_level": "sequence", "reduce": True},
        ):
            old, reference = normal(batch, length, dtype=FLOAT), normal(batch, length, dtype=FLOAT)
            yield there_and_back(
                grpo_loss,
                normal(batch, length + 1, vocabulary, grad=True),
                old,
                reference if options.get("beta") else None,
                integers(0, vocabulary, batch, length),
                normal(batch, dtype=FLOAT),
                torch.ones(batch, length, device="cuda", dtype=torch.int32),
                **options,
            )


@case
def divergences() -> Iterator[Call]:
    for rows, columns in ((8, 128), (37, 1001), (64, 32000)):
        for beta in (0.0, 0.5, 1.0):
            yield there_and_back(
                jsd, _log_probabilities(rows, columns, grad=True), _log_probabilities(rows, columns), beta=beta
            )
        yield there_and_back(
            jsd,
            _log_probabilities(rows, columns, grad=True),
            _log_probabilities(rows, columns),
            integers(0, columns, rows),
        )
        for reduction in ("none", "sum", "mean", "batchmean"):
            for log_target in (False, True):
                target = _log_probabilities(rows, columns)
                yield there_and_back(
                    kl_div,
                    _log_probabilities(rows, columns, grad=True),
                    target if log_target else target.exp(),
                    reduction=reduction,
                    log_target=log_target,
                )
            for labels in (None, integers(0, columns, rows)):
                yield there_and_back(
                    tvd,
                    _log_probabilities(rows, columns).exp().requires_grad_(),
                    _log_probabilities(rows, columns).exp(),
                    labels,
                    reduction=reduction,
                )


@case
def normalisations() -> Iterator[Call]:
    for rows, columns in ROWS:
        for dtype in (torch.bfloat16, FLOAT):
            x = normal(rows, columns, dtype=dtype, grad=True)
            weight, bias = normal(columns, dtype=dtype, grad=True), normal(columns, dtype=dtype, grad=True)
            yield there_and_back(layer_norm, x, weight, bias, 1e-5)
            yield there_and_back(layer_norm, x, weight.detach(), bias.detach(), 1e-5)
            yield there_and_back(rms_norm, x, weight, 1e-6, in_place=dtype is FLOAT)
            yield there_and_back(rms_norm, x, weight, 1e-6, offset=1.0, casting_mode="gemma", in_place=False)
            yield there_and_back(rms_norm, x, None, 1e-6, in_place=False)
            for shift, scaled in ((True, True), (False, True), (True, False)):
                yield there_and_back(
                    modulated_rms_norm,
                    normal(4, rows, columns, dtype=dtype, grad=True),
                    weight if scaled else None,
                    normal(4, rows, columns, dtype=dtype, grad=True),
                    normal(4, rows, columns, dtype=dtype, grad=True) if shift else None,
                )
            yield there_and_back(
                poly_norm, x, normal(3, dtype=dtype, grad=True), normal(1, dtype=dtype, grad=True), 1e-6
            )
            yield there_and_back(softmax, x)
            yield there_and_back(sparsemax, x, -1)


@case
def rotary_embeddings() -> Iterator[Call]:
    for batch, length, heads, kv_heads, dim in ((1, 128, 8, 2, 64), (2, 100, 6, 3, 80), (2, 1024, 32, 8, 128)):
        for dtype in (torch.bfloat16, FLOAT):
            q, k = (
                normal(batch, heads, length, dim, dtype=dtype, grad=True),
                normal(batch, kv_heads, length, dim, dtype=dtype, grad=True),
            )
            for cos_batch in (1, batch):
                cos, sin = normal(cos_batch, length, dim, dtype=dtype), normal(cos_batch, length, dim, dtype=dtype)
                yield there_and_back(rope, q, k, cos, sin)
            cos, sin = normal(3, batch, length, dim, dtype=dtype), normal(3, batch, length, dim, dtype=dtype)
            sections = [dim // 8, dim // 8 + dim // 16, dim // 2 - dim // 8 - dim // 8 - dim // 16]
            yield there_and_back(qwen2vl_mrope, q, k, cos, sin, sections)
            phases = torch.polar(*(f(length, dim // 2, device="cuda") for f in (torch.ones, torch.rand)))
            yield there_and_back(
                llama4_rope,
                normal(batch, length, heads, dim, dtype=dtype, grad=True),
                normal(batch, length, kv_heads, dim, dtype=dtype, grad=True),
                phases,
            )


@case
def token_attention() -> Iterator[Call]:
    for batch, channels, length in ((2, 4, 64), (1, 8, 200)):
        for sparse in (False, True):
            yield there_and_back(
                multi_token_attention,
                normal(batch, channels, length, length, dtype=FLOAT, grad=True),
                normal(channels, channels, 3, 3, dtype=FLOAT, grad=True),
                padding=1,
                sparse=sparse,
            )


@case
def tiled_perceptron() -> Iterator[Call]:
    layer = torch.nn.Linear(256, 256, device="cuda")
    yield there_and_back(tiled_mlp, lambda module, x: module(x), layer, normal(1, 1024, 256, dtype=FLOAT, grad=True), 4)
