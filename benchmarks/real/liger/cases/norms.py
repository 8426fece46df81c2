"""Normalisations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from benchmarks.real.calls import Call, case, normal, there_and_back
from liger_kernel.ops import (
    LigerDyTFunction,
    LigerFusedAddRMSNormFunction,
    LigerGroupNormFunction,
    LigerLayerNormFunction,
    LigerPolyNormFunction,
    LigerRMSNormFunction,
)

from . import FLOATS, ROWS


@case
def dynamic_tanh() -> Iterator[Call]:
    for (rows, columns), dtype, with_beta in product(ROWS, FLOATS, (True, False)):
        yield there_and_back(
            LigerDyTFunction.apply,
            normal(rows, columns, dtype=dtype, grad=True),
            normal(1, dtype=dtype, grad=True),
            normal(columns, dtype=dtype, grad=True),
            normal(columns, dtype=dtype, grad=True) if with_beta else None,
        )


@case
def add_rms_norm() -> Iterator[Call]:
    for (rows, columns), dtype, mode in product(ROWS, FLOATS, ("llama", "gemma", "none")):
        yield there_and_back(
            LigerFusedAddRMSNormFunction.apply,
            normal(rows, columns, dtype=dtype, grad=True),
            normal(rows, columns, dtype=dtype, grad=True),
            normal(columns, dtype=dtype, grad=True),
            1e-6,
            1.0 if mode == "gemma" else 0.0,
            mode,
        )


@case
def group_norm() -> Iterator[Call]:
    shapes = ((1, 1, 1, 1), (2, 32, 4, 64), (4, 12, 3, 100), (2, 6, 6, 4096), (3, 8, 1, 4097), (1, 4, 2, 70000))
    for (batch, channels, groups, length), dtype in product(shapes, FLOATS):
        yield there_and_back(
            LigerGroupNormFunction.apply,
            normal(batch, channels, length, dtype=dtype, grad=True),
            normal(channels, dtype=dtype, grad=True),
            normal(channels, dtype=dtype, grad=True),
            channels,
            groups,
            1e-5,
        )


@case
def layer_norm() -> Iterator[Call]:
    for (rows, columns), dtype, learned in product(ROWS, FLOATS, (True, False)):
        yield there_and_back(
            LigerLayerNormFunction.apply,
            normal(rows, columns, dtype=dtype, grad=True),
            normal(columns, dtype=dtype, grad=learned),
            normal(columns, dtype=dtype, grad=learned),
            1e-5,
        )


@case
def poly_norm() -> Iterator[Call]:
    for (rows, columns), dtype in product((*ROWS, (2, 70000)), FLOATS):
        yield there_and_back(
            LigerPolyNormFunction.apply,
            normal(rows, columns, dtype=dtype, grad=True),
            normal(3, dtype=dtype, grad=True),
            normal(1, dtype=dtype, grad=True),
            1e-6,
        )


@case
def rms_norm() -> Iterator[Call]:
    for (rows, columns), dtype, mode in product((*ROWS, (2400, 64)), FLOATS, ("llama", "gemma", "none")):
        for weighted, in_place in product((True, False), (True, False)):
            yield there_and_back(
                LigerRMSNormFunction.apply,
                normal(rows, columns, dtype=dtype, grad=True),
                normal(columns, dtype=dtype, grad=True) if weighted else None,
                1e-6,
                0.0 if mode == "llama" else 1.0,
                mode,
                in_place,
            )


@case
def rms_norm_of_three_axes() -> Iterator[Call]:
    x = torch.randn(2, 5, 384, device="cuda", requires_grad=True)
    yield there_and_back(LigerRMSNormFunction.apply, x.transpose(0, 1), normal(384, dtype=torch.float32), 1e-6)
