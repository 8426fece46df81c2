"""A step of a decoder in the interpreter, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal, unwritten

import tileverify
from tileverify.kernels.device import decoding as kernels
from tileverify.kernels.device import decoding_tokens as tokens
from tileverify.kernels.references import layers as references
from tileverify.kernels.references.layers import tables

Tiles = tuple[int, int, int, int]
N, K, EPS = 19, 75, 1e-5
GRID = (5,)
WAYS = pytest.mark.parametrize(
    ("kind", "sequences", "dtype", "tiles"),
    [
        ("step", 1, np.float32, (1, 4, 32, 16)),
        ("step", 1, np.float32, (1, 4, 128, 32)),
        ("step", 3, BFLOAT16, (8, 4, 32, 32)),
        ("steps", 3, np.float16, (8, 4, 32, 16)),
    ],
    ids=["one", "one, all ahead", "a few", "a few by tensor cores"],
)
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 4e-3, BFLOAT16: 2e-2}
"""Relative to the largest number: sums of products are rounded with the larger ones."""

SEQUENCES, HEADS, GROUP, HALF, PLACES, SPLIT = 4, 2, 3, 8, 40, 16
COS, SIN = (table.astype(np.float32) for table in tables(PLACES, HALF))


def close(found: Array, expected: Array) -> None:
    assert np.abs(found.astype(np.float64) - expected).max() <= TOLERANCE[found.dtype] * np.abs(expected).max()


@WAYS
def test_step_normed(kind: str, sequences: int, dtype: DTypeLike, tiles: Tiles) -> None:
    x, scales, weights = normal(sequences, K, dtype=dtype), normal(K, dtype=dtype), normal(N, K, dtype=dtype)
    out = unwritten(sequences, N, dtype=dtype)
    tileverify.launch(None, GRID, getattr(kernels, f"{kind}_normed"), (x, scales, weights, out, EPS, *tiles))
    close(out, references.step_normed(x, scales, weights, EPS))


@WAYS
def test_step_normed_gated(kind: str, sequences: int, dtype: DTypeLike, tiles: Tiles) -> None:
    x, scales = normal(sequences, K, dtype=dtype), normal(K, dtype=dtype)
    gates, weights = normal(N, K, dtype=dtype, seed=1), normal(N, K, dtype=dtype, seed=2)
    out = unwritten(sequences, N, dtype=dtype)
    tileverify.launch(
        None, GRID, getattr(kernels, f"{kind}_normed_gated"), (x, scales, gates, weights, out, EPS, *tiles)
    )
    close(out, references.step_normed_gated(x, scales, gates, weights, EPS))


@WAYS
def test_step_add(kind: str, sequences: int, dtype: DTypeLike, tiles: Tiles) -> None:
    x, weights = normal(sequences, K, dtype=dtype), normal(N, K, dtype=dtype)
    residual, out = normal(sequences, N, dtype=dtype), unwritten(sequences, N, dtype=dtype)
    tileverify.launch(None, GRID, getattr(kernels, f"{kind}_add"), (x, weights, residual, out, *tiles))
    close(out, references.step_add(x, weights, residual))


@WAYS
def test_step_largest(kind: str, sequences: int, dtype: DTypeLike, tiles: Tiles) -> None:
    x, scales, weights = normal(sequences, K, dtype=dtype), normal(K, dtype=dtype), normal(N, K, dtype=dtype)
    weights[7] = weights[4]  # in two blocks, so that of equal ones each finds its own
    maxima, places = unwritten(sequences, *GRID), np.full((sequences, *GRID), -1, np.int32)
    tileverify.launch(
        None, GRID, getattr(kernels, f"{kind}_largest"), (x, scales, weights, maxima, places, EPS, *tiles)
    )
    logits = references.step_normed(x, scales, weights, EPS)
    for block in range(*GRID):
        own = logits[:, 4 * block : 4 * block + 4]
        assert np.abs(maxima[:, block] - own.max(axis=1)).max() <= TOLERANCE[x.dtype] * np.abs(logits).max()
        assert (np.take_along_axis(own, places[:, [block]] - 4 * block, 1)[:, 0] >= own.max(axis=1) - 0.2).all()


def test_the_first_of_equal_ones_is_the_largest() -> None:
    x, weights = np.ones((1, 16), np.float32), np.ones((6, 16), np.float32)
    maxima, places = unwritten(1, 2), np.full((1, 2), -1, np.int32)
    arguments = (x, np.ones(16, np.float32), weights, maxima, places, EPS, 1, 4, 16, 16)
    tileverify.launch(None, (2,), kernels.step_largest, arguments)
    assert places.tolist() == [[0, 4]]


@pytest.mark.parametrize("kernel", [kernels.step_attention, kernels.steps_attention], ids=["step", "steps"])
@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16], ids=["f32", "bf16"])
def test_attention(dtype: DTypeLike, kernel: object) -> None:
    """Of positions at both ends, at a border of tiles, and beyond the cache; what is behind them is never looked at."""
    positions = np.array([0, 15, 16, 99], np.int32)
    packed = normal(SEQUENCES, HEADS * (GROUP + 2), 2 * HALF, dtype=dtype)
    q = packed[:, : HEADS * GROUP].reshape(SEQUENCES, HEADS, GROUP, 2 * HALF)
    k, v = (each[:, :, None] for each in np.split(packed[:, HEADS * GROUP :], 2, axis=1))
    weights = normal(2 * HALF, dtype=dtype, seed=1), normal(2 * HALF, dtype=dtype, seed=2)
    shape = (SEQUENCES, HEADS, PLACES, 2 * HALF)
    caches = normal(*shape, dtype=dtype, seed=3), normal(*shape, dtype=dtype, seed=4)
    for cache in caches:
        for b, position in enumerate(positions):
            cache[b, :, position:] = np.nan
    expected = references.step_attention(q, k, v, *weights, COS, SIN, positions, *caches, EPS, 0.25)
    splits = -(-PLACES // SPLIT)
    parts = unwritten(SEQUENCES, HEADS, splits, GROUP, 2 * HALF)
    maxima, sums = (unwritten(SEQUENCES, HEADS, splits, GROUP) for _ in range(2))
    out = unwritten(SEQUENCES, HEADS, GROUP, 2 * HALF, dtype=dtype)
    tileverify.launch(
        None, (splits, HEADS, SEQUENCES), kernel,
        (q, k, v, *weights, COS, SIN, positions, *caches, parts, maxima, sums, EPS, 0.25, 4, SPLIT, HALF),
    )  # fmt: skip
    tileverify.launch(
        None, (GROUP, HEADS, SEQUENCES), kernels.step_merge,
        (parts, maxima, sums, positions, out, 2, 2 * HALF, SPLIT),
    )  # fmt: skip
    assert_close(out, expected[0])
    for cache, after in zip(caches, expected[1:], strict=True):
        assert_close(cache, after)


def test_token_rows() -> None:
    table, ids = normal(7, 20), np.array([3, 0, 6, 9, -2], np.int32)
    out = unwritten(5, 20, dtype=np.float16)
    tileverify.launch(None, (2, 5), tokens.token_rows, (table, ids, out, 16))
    np.testing.assert_array_equal(out, table[[3, 0, 6, 6, 0]].astype(np.float16))


def test_step_on() -> None:
    """Also from before the first position, and from the last, where it stays."""
    chosen, positions = np.array([5, 6, 7, 8], np.int32), np.array([-1, 0, 4, 2**31 - 1], np.int32)
    drawn, history = normal(4, 6), np.full((4, 6), -1, np.int32)
    ids, uniforms = np.zeros(4, np.int32), unwritten(4)
    tileverify.launch(None, (4,), tokens.step_on, (chosen, drawn, ids, positions, uniforms, history))
    assert ids.tolist() == chosen.tolist()
    assert positions.tolist() == [0, 1, 5, 5]
    rows = np.arange(4)
    np.testing.assert_array_equal(uniforms, drawn[rows, positions])
    expected = np.full((4, 6), -1)
    expected[rows, positions] = chosen
    np.testing.assert_array_equal(history, expected)


@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16], ids=["f32", "bf16"])
def test_prompt_heads(dtype: DTypeLike) -> None:
    tokens, start = 5, 3
    packed = normal(tokens, HEADS * (GROUP + 2), 2 * HALF, dtype=dtype)
    q, k, v = np.split(packed, [HEADS * GROUP, HEADS * (GROUP + 1)], axis=1)
    weights = normal(2 * HALF, dtype=dtype, seed=1), normal(2 * HALF, dtype=dtype, seed=2)
    caches = normal(HEADS, 9, 2 * HALF, dtype=dtype, seed=3), normal(HEADS, 9, 2 * HALF, dtype=dtype, seed=4)
    expected = references.prompt_heads(q, k, v, *weights, COS, SIN, start, *caches, EPS)
    out = unwritten(HEADS * GROUP, tokens, 2 * HALF, dtype=dtype)
    arguments = (q, k, v, *weights, COS, SIN, start, out, *caches, EPS, 4, HALF)
    tileverify.launch(None, (tokens,), kernels.prompt_heads, arguments)
    for found, wanted in zip((out, *caches), expected, strict=True):
        assert_close(found, wanted)


def test_copy_rows() -> None:
    x, out = normal(3, 20), unwritten(3, 50)
    tileverify.launch(None, (2, 3), tokens.copy_rows, (x, out[:, :20], 16))
    np.testing.assert_array_equal(out[:, :20], x)
    assert np.isnan(out[:, 20:]).all()
