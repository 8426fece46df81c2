"""The fused product and cross entropy that refuses every GPU but one of compute capability 9.0."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from benchmarks.real.calls import Call, case, integers, normal, there_and_back
from liger_kernel.ops.cutile.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction


@case
def linear_cross_entropy() -> Iterator[Call]:
    shapes = ((1, 64, 3), (37, 100, 4096), (64, 256, 4097), (130, 512, 32000), (16, 128, 128256))
    for (tokens, hidden, words), reduction, learned in product(shapes, ("mean", "sum"), (True, False)):
        target = integers(0, words, tokens)
        target[3::5] = -100
        yield there_and_back(
            lambda *arguments: LigerFusedLinearCrossEntropyFunction.apply(*arguments)[0],
            normal(tokens, hidden, grad=True),
            normal(words, hidden, grad=learned),
            target,
            None,
            None,
            -100,
            0.0,
            0.0,
            reduction,
        )
