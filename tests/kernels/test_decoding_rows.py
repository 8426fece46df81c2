"""The products of a step for one sequence in the interpreter, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, normal, unwritten

import tileverify
from tileverify.kernels.device import decoding_rows as kernels
from tileverify.kernels.references import layers as references

N, EPS = 19, 1e-5
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 4e-3, BFLOAT16: 2e-2}
"""Relative to the largest number: sums of products are rounded with the larger ones."""

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])
TILES = pytest.mark.parametrize(
    ("k", "tiles"),
    [(75, (4, 16, 2)), (64, (4, 32, 2)), (5, (2, 16, 1))],
    ids=["several rounds", "one round", "less than a tile"],
)
GRIDS = pytest.mark.parametrize("blocks", [1, 3, 5, 7], ids=["one block", "a few", "as many", "too many"])
"""For five groups of four rows, the last of which is not whole."""


def close(found: Array, expected: Array) -> None:
    assert np.abs(found.astype(np.float64) - expected).max() <= TOLERANCE[found.dtype] * np.abs(expected).max()


@DTYPES
@TILES
@pytest.mark.parametrize("name", ["row_add", "row_add_tall", "row_add_streamed", "row_add_streamed_narrow"])
def test_row_add(name: str, dtype: DTypeLike, k: int, tiles: tuple[int, int, int]) -> None:
    x, weights = normal(1, k, dtype=dtype), normal(N, k, dtype=dtype, seed=1)
    residual, out = normal(1, N, dtype=dtype, seed=2), unwritten(1, N, dtype=dtype)
    tileverify.launch(None, (-(-N // tiles[0]),), getattr(kernels, name), (x, weights, residual, out, *tiles))
    close(out, references.step_add(x, weights, residual))


@DTYPES
@GRIDS
def test_row_normed(dtype: DTypeLike, blocks: int) -> None:
    """Also into another element type, as logits are."""
    x, scales, weights = normal(1, 75, dtype=dtype), normal(75, dtype=dtype, seed=1), normal(N, 75, dtype=dtype, seed=2)
    expected = references.step_normed(x, scales, weights, EPS)
    for out in (unwritten(1, N, dtype=dtype), unwritten(1, N)):
        tileverify.launch(None, (blocks,), kernels.row_normed, (x, scales, weights, out, EPS, 4, 32, 3))
        close(out, expected)


@DTYPES
@GRIDS
def test_row_normed_gated(dtype: DTypeLike, blocks: int) -> None:
    x, scales = normal(1, 75, dtype=dtype), normal(75, dtype=dtype, seed=1)
    gates, weights = normal(N, 75, dtype=dtype, seed=2), normal(N, 75, dtype=dtype, seed=3)
    out = unwritten(1, N, dtype=dtype)
    tileverify.launch(None, (blocks,), kernels.row_normed_gated, (x, scales, gates, weights, out, EPS, 4, 32, 3))
    close(out, references.step_normed_gated(x, scales, gates, weights, EPS))
