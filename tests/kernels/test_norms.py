"""Kernels of normalisation, run in the interpreter, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal, slopes, unwritten

import tileverify
from tileverify.kernels.device import norms
from tileverify.kernels.device.moving import column_sums
from tileverify.kernels.references import elements as references

EPS = 1e-5
M, N = 5, 37
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])


@pytest.fixture
def rows() -> tuple[Array, Array, Array, Array]:
    """x, dout, weight, bias"""
    return normal(M, N) + 3, normal(M, N, seed=1), normal(N, seed=2), normal(N, seed=3)


LONG = ((3,), (2, 16))
SHORT = ((2,), (2, 64))
"""The grid, and the tile."""

WHOLE = ((3,), (2, 64))
"""The same of rows that are whole in a tile, a block for each tile."""

THREE = ((3,), (2, 16))
"""The same of rows that are whole in three tiles."""

RMS_NORMS = [
    (norms.rms_norm, LONG), (norms.rms_norm_short, WHOLE), (norms.rms_norm_row, WHOLE), (norms.rms_norm_three, THREE),
]  # fmt: skip
LAYER_NORMS = [
    (norms.layer_norm, LONG), (norms.layer_norm_short, WHOLE), (norms.layer_norm_row, WHOLE),
    (norms.layer_norm_three, THREE),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "how"), RMS_NORMS)
@TYPES
def test_rms_norm(kernel: Any, how: Any, dtype: DTypeLike) -> None:
    x, weight = normal(M, N, dtype=dtype), normal(N, dtype=dtype, seed=2)
    out, rstd = unwritten(M, N, dtype=dtype), unwritten(M)
    tileverify.launch(None, how[0], kernel, (x, weight, out, rstd, EPS, *how[1]))
    for found, expected in zip((out, rstd), references.rms_norm(x, weight, EPS), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize(
    ("kernel", "tile", "longest"),
    [(norms.rms_norm_short, 64, 64), (norms.rms_norm_row, 64, 64), (norms.rms_norm_three, 16, 48)],
)
@pytest.mark.parametrize(("m", "missing"), [(6, 0), (5, 0), (6, 1), (6, 15)])
def test_rms_norm_of_rows_that_fill_their_tile_or_nearly(
    kernel: Any, tile: int, longest: int, m: int, missing: int
) -> None:
    """Borders are looked for in all but the first."""
    n = longest - missing
    x, weight = normal(m, n), normal(n, seed=2)
    out, rstd = unwritten(m, n), unwritten(m)
    tileverify.launch(None, (3,), kernel, (x, weight, out, rstd, EPS, 2, tile))
    for found, expected in zip((out, rstd), references.rms_norm(x, weight, EPS), strict=True):
        assert_close(found, expected)


def test_rms_norm_backward(rows: tuple[Array, ...]) -> None:
    x, dout, weight, _ = rows
    rstd = references.rms_norm(x, weight, EPS)[1].astype(np.float32)
    dx = unwritten(M, N)
    tileverify.launch(None, (3,), norms.rms_norm_backward, (dout, x, weight, rstd, dx, 2, 16))
    assert_close(dx, references.rms_norm_backward(dout, x, weight, rstd))
    assert_close(dx, slopes(lambda x: references.rms_norm(x, weight, EPS)[0], x, dout))


@pytest.mark.parametrize("groups", [2, 4])
def test_rms_norm_gradient_of_weights(rows: tuple[Array, ...], groups: int) -> None:
    x, dout, weight, _ = rows
    rstd = references.rms_norm(x, weight, EPS)[1].astype(np.float32)
    partials, dweight = unwritten(groups, N), unwritten(N)
    tileverify.launch(None, (3, groups), norms.rms_norm_weight_partials, (dout, x, rstd, partials, 2, 16))
    assert_close(partials, references.rms_norm_weight_partials(dout, x, rstd, groups, 2))
    tileverify.launch(None, (3,), column_sums, (partials, dweight, 2, 16))
    assert_close(dweight, slopes(lambda weight: references.rms_norm(x, weight, EPS)[0], weight, dout))


@pytest.mark.parametrize(("kernel", "how"), [(norms.add_rms_norm, LONG), (norms.add_rms_norm_short, SHORT)])
@TYPES
def test_add_rms_norm(kernel: Any, how: Any, dtype: DTypeLike) -> None:
    x, residual, weight = normal(M, N, dtype=dtype), normal(M, N, dtype=dtype, seed=1), normal(N, dtype=dtype, seed=2)
    total, out = unwritten(M, N, dtype=dtype), unwritten(M, N, dtype=dtype)
    tileverify.launch(None, how[0], kernel, (x, residual, weight, total, out, EPS, *how[1]))
    assert_close(total, references.add_rms_norm(x, residual, weight, EPS)[0])
    assert_close(out, references.rms_norm(total, weight, EPS)[0])


@pytest.mark.parametrize(("kernel", "how"), LAYER_NORMS)
@TYPES
def test_layer_norm(kernel: Any, how: Any, dtype: DTypeLike) -> None:
    x, weight, bias = normal(M, N, dtype=dtype), normal(N, dtype=dtype, seed=2), normal(N, dtype=dtype, seed=3)
    out, mean, rstd = unwritten(M, N, dtype=dtype), unwritten(M), unwritten(M)
    tileverify.launch(None, how[0], kernel, (x, weight, bias, out, mean, rstd, EPS, *how[1]))
    for found, expected in zip((out, mean, rstd), references.layer_norm(x, weight, bias, EPS), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize(
    ("kernel", "tile", "longest"),
    [(norms.layer_norm_short, 64, 64), (norms.layer_norm_row, 64, 64), (norms.layer_norm_three, 16, 48)],
)
@pytest.mark.parametrize(("m", "missing"), [(6, 0), (5, 0), (6, 1), (6, 15)])
def test_layer_norm_of_rows_that_fill_their_tile_or_nearly(
    kernel: Any, tile: int, longest: int, m: int, missing: int
) -> None:
    n = longest - missing
    x, weight, bias = normal(m, n) + 1, normal(n, seed=2), normal(n, seed=3)
    out, mean, rstd = unwritten(m, n), unwritten(m), unwritten(m)
    tileverify.launch(None, (3,), kernel, (x, weight, bias, out, mean, rstd, EPS, 2, tile))
    for found, expected in zip((out, mean, rstd), references.layer_norm(x, weight, bias, EPS), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize(
    ("kernel", "tile"), [(norms.layer_norm, 16), (norms.layer_norm_row, 64), (norms.layer_norm_three, 16)]
)
def test_layer_norm_far_from_zero(kernel: Any, tile: int) -> None:
    """A sum of squares in float32 would leave nothing of the variance."""
    x, ones, zeros = normal(M, N) + 1000, np.ones(N, np.float32), np.zeros(N, np.float32)
    out, mean, rstd = unwritten(M, N), unwritten(M), unwritten(M)
    tileverify.launch(None, (3,), kernel, (x, ones, zeros, out, mean, rstd, EPS, 2, tile))
    np.testing.assert_allclose(out, references.layer_norm(x, ones, zeros, EPS)[0], atol=1e-3)


def test_layer_norm_backward(rows: tuple[Array, ...]) -> None:
    x, dout, weight, bias = rows
    mean, rstd = (found.astype(np.float32) for found in references.layer_norm(x, weight, bias, EPS)[1:])
    dx = unwritten(M, N)
    tileverify.launch(None, (3,), norms.layer_norm_backward, (dout, x, weight, mean, rstd, dx, 2, 16))
    assert_close(dx, references.layer_norm_backward(dout, x, weight, mean, rstd))
    assert_close(dx, slopes(lambda x: references.layer_norm(x, weight, bias, EPS)[0], x, dout))


def test_layer_norm_gradients_of_weights(rows: tuple[Array, ...]) -> None:
    x, dout, weight, bias = rows
    mean, rstd = (found.astype(np.float32) for found in references.layer_norm(x, weight, bias, EPS)[1:])
    partials = unwritten(2, N), unwritten(2, N)
    arguments = (dout, x, mean, rstd, *partials, 2, 16)
    tileverify.launch(None, (3, 2), norms.layer_norm_weight_partials, arguments)
    for found, expected in zip(partials, references.layer_norm_weight_partials(dout, x, mean, rstd, 2, 2), strict=True):
        assert_close(found, expected)
    dweight, dbias = (found.sum(axis=0) for found in partials)
    assert_close(dweight, slopes(lambda weight: references.layer_norm(x, weight, bias, EPS)[0], weight, dout))
    assert_close(dbias, slopes(lambda bias: references.layer_norm(x, weight, bias, EPS)[0], bias, dout))


@TYPES
def test_qk_norm(dtype: DTypeLike) -> None:
    """Queries and keys are views of what one product made."""
    tokens, q_heads, k_heads, width = 3, 5, 2, 12
    both = normal(tokens, q_heads + k_heads, width, dtype=dtype)
    q, k = both[:, :q_heads], both[:, q_heads:]
    q_weight, k_weight = normal(width, dtype=dtype, seed=1), normal(width, dtype=dtype, seed=2)
    out = unwritten(*q.shape, dtype=dtype), unwritten(*k.shape, dtype=dtype)
    tileverify.launch(None, (tokens,), norms.qk_norm, (q, k, q_weight, k_weight, *out, EPS, 4, 16))
    for found, expected in zip(out, references.qk_norm(q, k, q_weight, k_weight, EPS), strict=True):
        assert_close(found, expected)
