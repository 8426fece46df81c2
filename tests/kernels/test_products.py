"""Matrix products in the interpreter, compared with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tileverify
from tileverify.kernels.device import products as device
from tileverify.kernels.references import layers as reference

Array = np.ndarray[Any, Any]
M, N, K = 37, 29, 41
GRID = (2, 2, 2)
"""Three rows of tiles in groups of two, and two columns."""


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def close(got: Array, expected: Array) -> None:
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=1e-2)


def test_matmul() -> None:
    a, b, out = normal(0, M, K), normal(1, K, N), np.empty((M, N), np.float16)
    tileverify.launch(None, GRID, device.matmul, (a, b, out, 16, 16, 16))
    close(out, reference.matmul(a, b))


def test_matmul_transposed() -> None:
    a, b, out = normal(0, M, K), normal(1, N, K), np.empty((M, N), np.float16)
    tileverify.launch(None, GRID, device.matmul_transposed, (a, b, out, 16, 16, 16))
    close(out, reference.matmul_transposed(a, b))


def test_matmul_add() -> None:
    a, b, residual, out = normal(0, M, K), normal(1, N, K), normal(2, M, N), np.empty((M, N), np.float16)
    tileverify.launch(None, GRID, device.matmul_add, (a, b, residual, out, 16, 16, 16))
    close(out, reference.matmul_add(a, b, residual))


def test_matmul_batched() -> None:
    a, b, out = normal(0, 2, M, K), normal(1, 2, K, N), np.empty((2, M, N), np.float16)
    tileverify.launch(None, (3, 2, 2), device.matmul_batched, (a, b, out, 16, 16, 16))
    close(out, reference.matmul_batched(a, b))


@pytest.mark.parametrize("splits", [2, 5])
def test_matmul_in_splits(splits: int) -> None:
    a, b, parts = normal(0, M, K), normal(1, K, N), np.empty((splits, M, N), np.float32)
    tileverify.launch(None, (3, 2, splits), device.matmul_splits, (a, b, parts, 16, 16, 16))
    close(parts, reference.matmul_splits(a, b, splits, 16))
    out = np.empty((M, N), np.float16)
    tileverify.launch(None, (5, 1), device.sum_splits, (parts, out, 8, 32))
    close(out, reference.sum_splits(parts))
    close(out, reference.matmul(a, b))


def test_matmul_scaled() -> None:
    """With elements of 16 bits: NumPy's arrays have none of 8 that a launch takes."""
    a, b = normal(0, M, K), normal(1, N, K)
    scales = np.random.default_rng(2)
    a_scales, b_scales = (scales.uniform(0.5, 2.0, (rows, 3)).astype(np.float32) for rows in (M, 2))
    out = np.empty((M, N), np.float16)
    tileverify.launch(None, GRID, device.matmul_scaled, (a, b, a_scales, b_scales, out, 16, 16, 16))
    close(out, reference.matmul_scaled(a, b, a_scales, b_scales, 16, 16))
