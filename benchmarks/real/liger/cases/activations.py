"""Gated units, softmax and sparsemax."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from benchmarks.real.calls import Call, case, normal, there_and_back
from liger_kernel.ops import (
    LigerGELUMulFunction,
    LigerSiLUMulFunction,
    LigerSoftmaxFunction,
    LigerSparsemaxFunction,
    apply_tiled_mlp,
)

from . import FLOATS, ROWS


@case
def gated_units() -> Iterator[Call]:
    for (rows, columns), dtype in product((*ROWS, (7, 11008), (3, 2047)), FLOATS):
        for unit in (LigerGELUMulFunction, LigerSiLUMulFunction):
            yield there_and_back(
                unit.apply, normal(rows, columns, dtype=dtype, grad=True), normal(rows, columns, dtype=dtype, grad=True)
            )
    yield there_and_back(LigerSiLUMulFunction.apply, normal(64, 512, grad=True), normal(64, 512, grad=True), 0.7, 1.3)


@case
def softmax() -> Iterator[Call]:
    for (rows, columns), dtype in product((*ROWS, (2, 70000), (2, 131072)), FLOATS):
        yield there_and_back(LigerSoftmaxFunction.apply, normal(rows, columns, dtype=dtype, grad=True))


@case
def sparsemax() -> Iterator[Call]:
    for (rows, columns), dtype, axis in product(ROWS, FLOATS, (-1, 0)):
        yield there_and_back(LigerSparsemaxFunction.apply, normal(rows, columns, dtype=dtype, grad=True), axis)


@case
def tiled_perceptron() -> Iterator[Call]:
    layer = torch.nn.Linear(256, 512, device="cuda")

    def gated(module: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
        gate, up = module(x).chunk(2, dim=-1)
        return LigerSiLUMulFunction.apply(gate.contiguous(), up.contiguous())  # type: ignore[no-any-return]

    yield there_and_back(
        apply_tiled_mlp, gated, layer, normal(1, 1000, 256, dtype=torch.float32, grad=True), num_shards=4
    )
