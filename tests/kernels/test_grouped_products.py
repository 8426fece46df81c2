"""Products of many matrices in the interpreter, compared with one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

import tileverify
from tileverify.kernels.device import grouped_products as device
from tileverify.kernels.references import layers as reference

Array = np.ndarray[Any, Any]


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def close(got: Array, expected: Array) -> None:
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=1e-2)


def test_matmul_list() -> None:
    sizes = [(37, 20, 18), (5, 3, 40), (16, 16, 16)]
    a, b = [normal(0, m, k) for m, k, _ in sizes], [normal(1, k, n) for _, k, n in sizes]
    out = [np.empty((m, n), np.float16) for m, _, n in sizes]
    tileverify.launch(None, (2, 2, 3), device.matmul_list, (a, b, out, 16, 16, 16))
    for got, expected in zip(out, reference.matmul_list(a, b), strict=True):
        close(got, expected)


def test_matmul_experts() -> None:
    x, weights, out = normal(0, 60, 20), normal(1, 3, 18, 20), np.zeros((60, 18), np.float16)
    experts = np.array([2, 0, -1, 1], np.int32)
    tileverify.launch(None, (4, 2), device.matmul_experts, (x, weights, experts, out, 16, 16, 16))
    close(out, reference.matmul_experts(x, weights, experts, 16))


def test_matmul_segments() -> None:
    x, weights, out = normal(0, 45, 20), normal(1, 4, 18, 20), np.zeros((45, 18), np.float16)
    offsets = np.array([0, 19, 19, 22, 41], np.int32)
    facts = ["nondecreasing(offsets)", "range(offsets, 0, x.shape[0] + 1)"]
    arguments = (x, weights, offsets, out, 16, 16, 16)
    tileverify.launch(None, (3, 2, 4), device.matmul_segments, arguments, data=facts)
    close(out, reference.matmul_segments(x, weights, offsets))
