"""Operations that exist in Triton alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from benchmarks.real.calls import Call, case, integers, normal, there_and_back
from liger_kernel.ops import (
    LigerAttnResFunction,
    LigerEmbeddingFunction,
    LigerFusedCETVDFunction,
    LigerFusedGateUpSiLUMulFunction,
    LigerFusedLinearCrossEntropyFunction,
    LigerFusedLinearKLDivFunction,
    LigerFusedMoEFunction,
    LigerFusedNeighborhoodAttentionFunction,
    LigerMHCCoeffsFunction,
    LigerMHCPostResFunction,
    LigerMHCPreFunction,
    LigerMLPFunction,
    LigerModulatedRMSNormFunction,
    LigerReLUSquaredFunction,
    LigerTVDLossFunction,
    LigerVocabParallelCEFunction,
)
from liger_kernel.ops.experimental import mm_int8int2

from . import FLOATS, ROWS

FLOAT = torch.float32


def _distribution(rows: int, columns: int, grad: bool = False) -> torch.Tensor:
    values = torch.softmax(normal(rows, columns, dtype=FLOAT), dim=-1).detach()
    return values.requires_grad_() if grad else values


@case
def attention_residuals() -> Iterator[Call]:
    for (blocks, tokens, width), dtype in product(((1, 1, 8), (3, 7, 100), (5, 64, 256), (9, 33, 1000)), FLOATS):
        yield there_and_back(
            LigerAttnResFunction.apply,
            normal(blocks, 1, tokens, width, dtype=dtype, grad=True),
            normal(width, dtype=dtype, grad=True),
            normal(width, dtype=dtype, grad=True),
            1e-6,
        )


@case
def embedding() -> Iterator[Call]:
    for (words, width, tokens), dtype in product(((10, 8, 1), (1000, 100, 37), (1001, 256, 130)), FLOATS):
        indices = integers(0, words, 1, tokens)
        yield there_and_back(LigerEmbeddingFunction.apply, normal(words, width, dtype=dtype, grad=True), indices)


@case
def cross_entropy_and_total_variation() -> Iterator[Call]:
    for (rows, columns), dtype in product(((1, 3), (13, 1000), (7, 4097), (3, 40000)), FLOATS):
        student, teacher = (normal(rows, columns, dtype=dtype, grad=grad) for grad in (True, False))
        yield there_and_back(LigerFusedCETVDFunction.apply, student, teacher, integers(0, columns, rows))


@case
def total_variation() -> Iterator[Call]:
    for (rows, columns), reduction in product(ROWS, ("none", "sum", "mean", "batchmean")):
        labels = None if reduction == "sum" else integers(0, columns, rows)
        p, q = _distribution(rows, columns, grad=True), _distribution(rows, columns)
        yield there_and_back(LigerTVDLossFunction.apply, p, q, labels, reduction)


@case
def gated_unit_of_one_product() -> Iterator[Call]:
    for (rows, columns), dtype, in_place in product((*ROWS, (3, 2047)), FLOATS, (False, True)):
        y = normal(rows, 2 * columns, dtype=dtype, grad=True)
        yield there_and_back(LigerFusedGateUpSiLUMulFunction.apply, y, in_place)


@case
def squared_relu() -> Iterator[Call]:
    for (rows, columns), dtype in product(ROWS, FLOATS):
        yield there_and_back(LigerReLUSquaredFunction.apply, normal(rows, columns, dtype=dtype, grad=True))


@case
def linear_cross_entropy() -> Iterator[Call]:
    for (tokens, hidden, words), dtype in product(((1, 16, 3), (37, 100, 1000), (130, 128, 4097)), FLOATS):
        for bias in (False, True):
            yield there_and_back(
                lambda *arguments: LigerFusedLinearCrossEntropyFunction.apply(*arguments)[0],
                normal(tokens, hidden, dtype=dtype, grad=True),
                normal(words, hidden, dtype=dtype, grad=True),
                integers(0, words, tokens),
                normal(words, dtype=dtype, grad=True) if bias else None,
            )


@case
def linear_kullback_leibler() -> Iterator[Call]:
    for (tokens, hidden, words), labelled in product(((5, 64, 100), (33, 100, 4100)), (False, True)):
        yield there_and_back(
            LigerFusedLinearKLDivFunction.apply,
            normal(tokens, hidden, dtype=FLOAT, grad=True),
            normal(words, hidden, dtype=FLOAT, grad=True),
            _distribution(tokens, words),
            integers(0, words, tokens) if labelled else None,
        )


@case
def experts() -> Iterator[Call]:
    shapes = ((5, 64, 32, 4, 2), (130, 128, 96, 8, 3), (300, 256, 128, 16, 1))
    for (tokens, hidden, inner, count, chosen), dtype in product(shapes, (torch.bfloat16, torch.float16)):
        yield there_and_back(
            LigerFusedMoEFunction.apply,
            normal(tokens, hidden, dtype=dtype, grad=True),
            normal(count, 2 * inner, hidden, dtype=dtype, grad=True),
            normal(count, hidden, inner, dtype=dtype, grad=True),
            integers(0, count, tokens, chosen, dtype=torch.int32),
            torch.rand(tokens, chosen, device="cuda").to(dtype).requires_grad_(),
        )


@case
def neighborhood_attention() -> Iterator[Call]:
    shapes = ((1, 2, 33, 32), (2, 3, 128, 64), (1, 1, 200, 80))
    for (batch, heads, length, width), dtype, window in product(shapes, FLOATS, ((7, 1), (3, 2))):
        q, k, v = (normal(batch, heads, length, width, dtype=dtype, grad=True) for _ in range(3))
        yield there_and_back(LigerFusedNeighborhoodAttentionFunction.apply, q, k, v, *window)


@case
def hyper_connections() -> Iterator[Call]:
    for (tokens, streams, width), dtype in product(((5, 4, 64), (33, 2, 100), (130, 4, 256)), FLOATS):
        outputs = streams * streams + 2 * streams
        x = normal(1, tokens, streams, width, dtype=dtype, grad=True)
        yield there_and_back(
            LigerMHCCoeffsFunction.apply,
            x,
            normal(streams * width, outputs, dtype=dtype, grad=True),
            normal(outputs, dtype=FLOAT, grad=True),
            *(normal(1, dtype=FLOAT, grad=True).squeeze() for _ in range(3)),
            True,
            5,
            1e-6,
            1e-6,
            1e-6,
            2.0,
        )
        h_pre, h_post = (normal(1, tokens, streams, dtype=FLOAT, grad=True) for _ in range(2))
        h_res = normal(1, tokens, streams, streams, dtype=FLOAT, grad=True)
        yield there_and_back(LigerMHCPreFunction.apply, x, h_pre)
        f_out = normal(1, tokens, width, dtype=dtype, grad=True)
        yield there_and_back(LigerMHCPostResFunction.apply, x, f_out, h_post, h_res)


@case
def perceptron_by_descriptors() -> Iterator[Call]:
    for (tokens, hidden, inner), dtype in product(((64, 128, 256), (100, 256, 384)), (torch.bfloat16, torch.float16)):
        for grad in (True, False):
            yield there_and_back(
                LigerMLPFunction.apply,
                normal(tokens, hidden, dtype=dtype, grad=grad),
                normal(inner, hidden, dtype=dtype, grad=grad),
                normal(inner, hidden, dtype=dtype, grad=grad),
                normal(hidden, inner, dtype=dtype, grad=grad),
            )


@case
def modulated_rms_norm() -> Iterator[Call]:
    for (rows, columns), dtype, mode in product(ROWS, FLOATS, ("llama", "gemma", "none")):
        yield there_and_back(
            LigerModulatedRMSNormFunction.apply,
            normal(rows, columns, dtype=dtype, grad=True),
            normal(columns, dtype=dtype, grad=True),
            normal(1, columns, dtype=dtype, grad=True),
            normal(1, columns, dtype=dtype, grad=True),
            1e-6,
            0.0,
            mode,
            False,
        )


@case
def parallel_cross_entropy() -> Iterator[Call]:
    for (length, batch, words), smoothing in product(((1, 1, 3), (7, 2, 1000), (5, 3, 4097)), (0.0, 0.1)):
        yield there_and_back(
            LigerVocabParallelCEFunction.apply,
            normal(length, batch, words, dtype=FLOAT, grad=True),
            integers(0, words, length, batch),
            None,
            -100,
            smoothing,
            "megatron",
            "global",
        )


@case
def two_bit_product() -> Iterator[Call]:
    for rows, inner, columns in ((32, 128, 64), (100, 256, 96)):
        a = integers(-127, 127, rows, inner, dtype=torch.int8)
        b = integers(0, 255, inner // 4, columns, dtype=torch.uint8)
        yield lambda a=a, b=b: mm_int8int2.matmul(a, b)  # type: ignore[misc]
