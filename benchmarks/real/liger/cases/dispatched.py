"""What ``liger_kernel.functional`` dispatches to for Blackwell."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from benchmarks.real.calls import Call, case, integers, normal, there_and_back
from liger_kernel.functional import fused_linear_jsd, jsd, layer_norm, rms_norm, softmax

from . import FLOATS

CUTILE = {"impl": "nvidia-cutile"}
ROWS = ((1, 1), (3, 127), (4, 128), (37, 129), (149, 1000), (16, 4096), (5, 4100), (300, 2048), (4, 8192))
MODES = (None, "standard", "static_persistent", "multi_wave_cached")


@case
def dispatched_rms_norm() -> Iterator[Call]:
    for (rows, columns), casting, mode in product(ROWS, ("llama", "gemma", "none"), MODES):
        for dtype, weighted, in_place in product(FLOATS, (True, False), (True, False)):
            yield there_and_back(
                rms_norm,
                normal(rows, columns, dtype=dtype, grad=True),
                normal(columns, dtype=dtype, grad=True) if weighted else None,
                1e-6,
                offset=0.0 if casting == "llama" else 1.0,
                casting_mode=casting,
                in_place=in_place,
                mode=mode,
                **CUTILE,
            )


@case
def dispatched_layer_norm() -> Iterator[Call]:
    for (rows, columns), dtype, mode in product(ROWS, FLOATS, MODES):
        weight, bias = (normal(columns, dtype=dtype, grad=True) for _ in range(2))
        yield there_and_back(
            layer_norm, normal(rows, columns, dtype=dtype, grad=True), weight, bias, 1e-5, mode=mode, **CUTILE
        )


@case
def dispatched_softmax() -> Iterator[Call]:
    for (rows, columns), dtype in product((*ROWS, (700, 300), (600, 9000)), FLOATS):
        modes = (None, "chunked") if columns > 8192 else (None, "standard", "static_persistent", "chunked")
        for mode in modes:
            yield there_and_back(softmax, normal(rows, columns, dtype=dtype, grad=True), mode=mode, **CUTILE)


@case
def dispatched_jensen_shannon() -> Iterator[Call]:
    for (rows, columns), dtype, beta in product(((1, 3), (37, 4096), (13, 4097)), FLOATS, (0.0, 0.5, 1.0)):
        for labels in (None, integers(0, columns, rows)):
            student, teacher = (normal(rows, columns, dtype=dtype).log_softmax(-1).detach() for _ in range(2))
            yield there_and_back(jsd, student.requires_grad_(), teacher, labels, beta, -100, **CUTILE)


@case
def dispatched_linear_jensen_shannon() -> Iterator[Call]:
    for dtype, labels in product(FLOATS, (None, integers(0, 1000, 64))):
        yield there_and_back(
            fused_linear_jsd,
            normal(64, 256, dtype=dtype, grad=True),
            normal(1000, 256, dtype=dtype, grad=True),
            normal(64, 512, dtype=dtype),
            normal(1000, 512, dtype=dtype),
            labels,
            **CUTILE,
        )
