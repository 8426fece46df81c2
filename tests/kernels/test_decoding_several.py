"""The products of a step for several sequences in the interpreter, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, normal, unwritten

import tileverify
from tileverify.kernels.device import decoding_several as kernels
from tileverify.kernels.references import layers as references

N, K, EPS = 19, 75, 1e-5
TILES = 8, 4, 32
GRID = (5,)
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 4e-3, BFLOAT16: 2e-2}
"""Relative to the largest number: sums of products are rounded with the larger ones."""

DTYPES = pytest.mark.parametrize("dtype", [np.float16, BFLOAT16], ids=["f16", "bf16"])
SEQUENCES = pytest.mark.parametrize("sequences", [2, 8])
PARTS = pytest.mark.parametrize("parts", [1, 5, 70], ids=["one", "a few", "more than a tile"])
"""How many sums of squares there are."""


def close(found: Array, expected: Array) -> None:
    assert np.abs(found.astype(np.float64) - expected).max() <= TOLERANCE[found.dtype] * np.abs(expected).max()


def handed_on(x: Array, scales: Array, parts: int) -> tuple[Array, Array]:
    """``scaled`` and ``squares`` of a vector."""
    wide = x.astype(np.float32)
    squares = np.array([[part @ part for part in np.array_split(row, parts)] for row in wide], np.float32)
    return (wide * scales.astype(np.float32)).astype(x.dtype), squares


def close_to_handed_on(out: Array, scales: Array, scaled: Array, squares: Array, width: int) -> None:
    """Exactly those of the vector as it was rounded, but for the order of sums."""
    wide = out.astype(np.float32)
    np.testing.assert_array_equal(scaled, (wide * scales.astype(np.float32)).astype(out.dtype))
    starts = range(0, out.shape[1], width)
    expected = np.stack([(wide[:, start : start + width] ** 2).sum(axis=1) for start in starts], axis=1)
    np.testing.assert_allclose(squares, expected, rtol=1e-5)


@DTYPES
@SEQUENCES
@pytest.mark.parametrize("name", ["several_add", "several_add_many"])
def test_several_add(name: str, sequences: int, dtype: DTypeLike) -> None:
    x, weights = normal(sequences, K, dtype=dtype), normal(N, K, dtype=dtype, seed=1)
    residual, scales = normal(sequences, N, dtype=dtype, seed=2), normal(N, dtype=dtype, seed=3)
    out, scaled = unwritten(sequences, N, dtype=dtype), unwritten(sequences, N, dtype=dtype)
    squares = unwritten(sequences, *GRID)
    arguments = (x, weights, residual, scales, out, scaled, squares, *TILES)
    tileverify.launch(None, GRID, getattr(kernels, name), arguments)
    close(out, references.step_add(x, weights, residual))
    close_to_handed_on(out, scales, scaled, squares, TILES[1])


@DTYPES
@SEQUENCES
@PARTS
def test_several_normed(parts: int, sequences: int, dtype: DTypeLike) -> None:
    x, scales, weights = normal(sequences, K, dtype=dtype), normal(K, dtype=dtype, seed=1), normal(N, K, dtype=dtype)
    scaled, squares = handed_on(x, scales, parts)
    out = unwritten(sequences, N, dtype=dtype)
    tileverify.launch(None, GRID, kernels.several_normed, (scaled, squares, weights, out, EPS, *TILES))
    close(out, references.step_normed(x, scales, weights, EPS))


@DTYPES
@SEQUENCES
@PARTS
@pytest.mark.parametrize("name", ["several_normed_gated", "several_normed_gated_many"])
def test_several_normed_gated(name: str, parts: int, sequences: int, dtype: DTypeLike) -> None:
    x, scales = normal(sequences, K, dtype=dtype), normal(K, dtype=dtype, seed=1)
    gates, weights = normal(N, K, dtype=dtype, seed=2), normal(N, K, dtype=dtype, seed=3)
    scaled, squares = handed_on(x, scales, parts)
    out = unwritten(sequences, N, dtype=dtype)
    tileverify.launch(None, GRID, getattr(kernels, name), (scaled, squares, gates, weights, out, EPS, *TILES))
    close(out, references.step_normed_gated(x, scales, gates, weights, EPS))


@DTYPES
def test_several_rows(dtype: DTypeLike) -> None:
    table, ids, scales = normal(7, N, dtype=dtype), np.array([3, 0, 6, 9, -2], np.int32), normal(N, dtype=dtype, seed=1)
    out, scaled = unwritten(5, N, dtype=dtype), unwritten(5, N, dtype=dtype)
    squares = unwritten(5, 2)
    tileverify.launch(None, (2, 5), kernels.several_rows, (table, ids, scales, out, scaled, squares, 16))
    np.testing.assert_array_equal(out, table[[3, 0, 6, 6, 0]])
    close_to_handed_on(out, scales, scaled, squares, 16)
