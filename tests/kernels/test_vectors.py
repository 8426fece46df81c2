"""Products with one vector or a few in the interpreter, compared with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

import tileverify
from tileverify.kernels.device import vectors as device
from tileverify.kernels.references import layers as reference

Array = np.ndarray[Any, Any]
N, K = 19, 75
GRID, TILES = (5,), (4, 32)
EPS = 1e-5


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def close(got: Array, expected: Array) -> None:
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=1e-2)


def test_matvec() -> None:
    x, weights, out = normal(0, K), normal(1, N, K), np.empty(N, np.float16)
    tileverify.launch(None, GRID, device.matvec, (x, weights, out, *TILES))
    close(out, reference.matvec(x, weights))


def test_matvec_add() -> None:
    x, weights, residual, out = normal(0, K), normal(1, N, K), normal(2, N), np.empty(N, np.float16)
    tileverify.launch(None, GRID, device.matvec_add, (x, weights, residual, out, *TILES))
    close(out, reference.matvec_add(x, weights, residual))


def test_matvec_gated() -> None:
    x, gates, weights, out = normal(0, K), normal(1, N, K), normal(2, N, K), np.empty(N, np.float16)
    tileverify.launch(None, GRID, device.matvec_gated, (x, gates, weights, out, *TILES))
    close(out, reference.matvec_gated(x, gates, weights))


def test_matvec_normed() -> None:
    x, scales, weights, out = normal(0, K), normal(1, K), normal(2, N, K), np.empty(N, np.float16)
    tileverify.launch(None, GRID, device.matvec_normed, (x, scales, weights, out, EPS, *TILES))
    close(out, reference.matvec_normed(x, scales, weights, EPS))


def test_matvec_normed_gated() -> None:
    x, scales, gates, weights = normal(0, K), normal(1, K), normal(2, N, K), normal(3, N, K)
    out = np.empty(N, np.float16)
    tileverify.launch(None, GRID, device.matvec_normed_gated, (x, scales, gates, weights, out, EPS, *TILES))
    close(out, reference.matvec_normed_gated(x, scales, gates, weights, EPS))


def test_matvecs() -> None:
    x, weights, out = normal(0, 3, K), normal(1, N, K), np.empty((3, N), np.float16)
    tileverify.launch(None, GRID, device.matvecs, (x, weights, out, 4, *TILES))
    close(out, reference.matvecs(x, weights))


def test_matvecs_add() -> None:
    x, weights, residual, out = normal(0, 3, K), normal(1, N, K), normal(2, 3, N), np.empty((3, N), np.float16)
    tileverify.launch(None, GRID, device.matvecs_add, (x, weights, residual, out, 4, *TILES))
    close(out, reference.matvecs_add(x, weights, residual))


def test_matvecs_gated() -> None:
    x, gates, weights, out = normal(0, 3, K), normal(1, N, K), normal(2, N, K), np.empty((3, N), np.float16)
    tileverify.launch(None, GRID, device.matvecs_gated, (x, gates, weights, out, 4, *TILES))
    close(out, reference.matvecs_gated(x, gates, weights))


def test_matvec_experts() -> None:
    x, weights, out = normal(0, 3, K), normal(1, 4, N, K), np.empty((3, N), np.float16)
    experts = np.array([3, 7, 0], np.int32)
    tileverify.launch(None, (5, 3), device.matvec_experts, (x, weights, experts, out, *TILES))
    close(out, reference.matvec_experts(x, weights, experts))
