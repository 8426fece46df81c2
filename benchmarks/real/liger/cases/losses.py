"""Losses: cross entropy and its fused products, divergences, policy optimisation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from benchmarks.real.calls import Call, case, integers, normal, there_and_back
from liger_kernel.ops import (
    GrpoLossFunction,
    LigerCrossEntropyFunction,
    LigerFusedLinearJSDFunction,
    LigerFusedLinearScaledCrossEntropyFunction,
    LigerJSDFunction,
    LigerKLDivLossFunction,
)

from . import FLOATS

FLOAT = torch.float32
VOCABULARIES = ((1, 3), (64, 1000), (37, 4096), (13, 4097), (16, 32000), (4, 128256))
"""Tokens and words."""


def _labels(tokens: int, words: int, ignored: bool = True) -> torch.Tensor:
    """Targets, every fifth of which is to be ignored."""
    found = integers(0, words, tokens)
    if ignored:
        found[4::5] = -100
    return found


def _log_probabilities(rows: int, columns: int, dtype: torch.dtype = FLOAT, grad: bool = False) -> torch.Tensor:
    values = torch.log_softmax(normal(rows, columns, dtype=FLOAT), dim=-1).to(dtype).detach()
    return values.requires_grad_() if grad else values


@case
def cross_entropy() -> Iterator[Call]:
    for (tokens, words), dtype in product(VOCABULARIES, FLOATS):
        for options in (
            {},
            {"label_smoothing": 0.1, "reduction": "sum"},
            {"softcap": 30.0, "lse_square_scale": 1e-4, "return_z_loss": True},
            {"weight": torch.rand(words, device="cuda"), "reduction": "none"},
            {"weight": torch.rand(words, device="cuda"), "label_smoothing": 0.1},
            {"return_token_accuracy": True, "return_predicted_tokens": True},
        ):
            yield _cross_entropy(normal(tokens, words, dtype=dtype, grad=True), _labels(tokens, words), **options)
        yield _cross_entropy(normal(tokens, words, dtype=dtype), _labels(tokens, words, ignored=False))


def _cross_entropy(
    logits: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    lse_square_scale: float = 0.0,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    softcap: float | None = None,
    return_z_loss: bool = False,
    return_token_accuracy: bool = False,
    return_predicted_tokens: bool = False,
) -> Call:
    return there_and_back(
        lambda: LigerCrossEntropyFunction.apply(
            logits,
            target,
            weight,
            -100,
            lse_square_scale,
            label_smoothing,
            reduction,
            softcap,
            return_z_loss,
            return_token_accuracy,
            return_predicted_tokens,
        )[0]
    )


@case
def scaled_cross_entropy() -> Iterator[Call]:
    for (tokens, hidden, words), dtype in product(((1, 16, 3), (37, 256, 1000), (130, 128, 32000)), FLOATS):
        for selected, entropy in product((None, 1, 3), (False, True)):
            yield there_and_back(
                LigerFusedLinearScaledCrossEntropyFunction.apply,
                normal(tokens, hidden, dtype=dtype, grad=True),
                normal(words, hidden, dtype=dtype, grad=True),
                _labels(tokens, words),
                0.7,
                return_entropy=entropy,
                selected_token_ids=None if selected is None else torch.arange(selected, device="cuda"),
            )


@case
def jensen_shannon() -> Iterator[Call]:
    for (rows, columns), dtype in product(VOCABULARIES, FLOATS):
        for beta, labels in product((0.0, 0.5, 1.0), (None, _labels(rows, columns))):
            yield there_and_back(
                LigerJSDFunction.apply,
                _log_probabilities(rows, columns, dtype, grad=True),
                _log_probabilities(rows, columns, dtype),
                labels,
                beta,
                -100,
            )


def _twice(loss: Any) -> Any:
    """A loss that is a part of another: its gradient is not one."""
    return loss * 2.0


@case
def linear_jensen_shannon() -> Iterator[Call]:
    for (tokens, hidden, words), dtype in product(((5, 64, 100), (64, 256, 1000), (33, 100, 4100)), FLOATS):
        for beta, labels in ((0.5, None), (0.1, _labels(tokens, words))):
            yield there_and_back(
                lambda *arguments: _twice(LigerFusedLinearJSDFunction.apply(*arguments)),
                normal(tokens, hidden, dtype=dtype, grad=True),
                normal(words, hidden, dtype=dtype, grad=True),
                normal(tokens, 2 * hidden, dtype=dtype),
                normal(words, 2 * hidden, dtype=dtype),
                labels,
                beta,
                -100,
                0.8,
            )


@case
def kullback_leibler() -> Iterator[Call]:
    for (rows, columns), dtype in product(VOCABULARIES, FLOATS):
        for reduction, log_target in product(("none", "sum", "mean", "batchmean"), (False, True)):
            target = _log_probabilities(rows, columns, dtype)
            yield there_and_back(
                LigerKLDivLossFunction.apply,
                _log_probabilities(rows, columns, dtype, grad=True),
                target if log_target else target.exp(),
                reduction,
                log_target,
                1e-10,
            )


@case
def policy_optimisation() -> Iterator[Call]:
    for (batch, length, words), dtype in product(((1, 1, 100), (2, 17, 1000), (4, 64, 8200)), FLOATS):
        for loss_type, beta, reduce, masked, inplace in (
            ("grpo", 0.0, True, True, False),
            ("grpo", 0.04, False, False, True),
            ("bnpo", 0.04, True, True, True),
            ("dapo", 0.0, True, False, False),
            ("dr_grpo", 0.04, True, True, False),
            ("luspo", 0.0, True, True, False),
            ("cispo", 0.04, True, True, True),
            ("sapo", 0.0, False, True, False),
        ):
            yield _grpo(batch, length, words, dtype, loss_type, beta, reduce, masked, inplace)
        for shape in ((batch,), (batch, 1), (batch, length)):
            ratio = torch.rand(*shape, device="cuda")
            yield _grpo(batch, length, words, dtype, "grpo", 0.04, True, True, False, ratio=ratio, delta=3.0)
        phi = torch.rand(batch, device="cuda")
        yield _grpo(batch, length, words, dtype, "vespo", 0.04, True, True, False, phi=phi, corrected=True)
        yield _grpo(batch, length, words, dtype, "grpo", 0.04, True, True, False, old=True, corrected=True)
        for reduce, ratio in ((True, None), (False, torch.rand(batch, length, device="cuda"))):
            yield _grpo(
                batch, length, words, dtype, "grpo", 0.04, reduce, reduce, not reduce, level="sequence", ratio=ratio
            )


def _grpo(
    batch: int,
    length: int,
    words: int,
    dtype: torch.dtype,
    loss_type: str,
    beta: float,
    reduce: bool,
    masked: bool,
    inplace: bool,
    *,
    level: str = "token",
    ratio: torch.Tensor | None = None,
    delta: float | None = None,
    phi: torch.Tensor | None = None,
    corrected: bool = False,
    old: bool = False,
) -> Call:
    mask = torch.ones(batch, length, device="cuda", dtype=torch.int32)
    mask[:, length // 2 + 1 :] = 0
    logits = normal(batch, length + 1, words, dtype=dtype, grad=True)
    old_logp = normal(batch, length, dtype=FLOAT) if old or loss_type in ("cispo", "sapo", "vespo") else None
    arguments = (
        logits,
        old_logp,
        normal(batch, length, dtype=FLOAT) if beta else None,
        integers(0, words, batch, length),
        normal(batch, dtype=FLOAT),
        mask if masked else None,
        0.9,
        beta,
        0.2,
        0.28,
        inplace,
        loss_type,
        None,
        reduce,
        level,
        1.0,
        1.05,
        ratio,
        delta,
        corrected,
        None,
        phi,
    )
    return there_and_back(lambda: GrpoLossFunction.apply(*arguments)[0])
