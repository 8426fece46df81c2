"""Rotary embedding and caches, run in the interpreter, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal, slopes, unwritten

import tileverify
from tileverify.kernels.device import rope as kernels
from tileverify.kernels.references import layers as references

SEQUENCES, LENGTH, Q_HEADS, K_HEADS, HALF, PLACES = 3, 4, 5, 3, 8, 11
WIDTH, TOKENS = 2 * HALF, SEQUENCES * LENGTH
TILES = (2, HALF)
EPS = 1e-5
COS, SIN = (table.astype(np.float32) for table in references.tables(PLACES, HALF))
POSITIONS = np.random.default_rng(0).integers(0, PLACES, TOKENS).astype(np.int32)
TYPES = pytest.mark.parametrize("dtype", [np.float32, BFLOAT16], ids=["f32", "bf16"])


def heads(tokens: int, dtype: DTypeLike = np.float32) -> tuple[Array, Array, Array]:
    """Queries, keys and values, as one product makes them."""
    packed = normal(tokens, Q_HEADS + 2 * K_HEADS, WIDTH, dtype=dtype)
    q, k, v = np.split(packed, [Q_HEADS, Q_HEADS + K_HEADS], axis=1)
    return q, k, v


def caches(dtype: DTypeLike = np.float32) -> tuple[Array, Array]:
    shape = (SEQUENCES, K_HEADS, PLACES, WIDTH)
    return normal(*shape, dtype=dtype, seed=3), normal(*shape, dtype=dtype, seed=4)


def compare(found: tuple[Array, ...], expected: tuple[Array, ...]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other)


@TYPES
def test_rope(dtype: DTypeLike) -> None:
    q, k, _ = heads(TOKENS, dtype)
    out = unwritten(*q.shape, dtype=dtype), unwritten(*k.shape, dtype=dtype)
    tileverify.launch(None, (TOKENS,), kernels.rope, (q, k, COS, SIN, POSITIONS, *out, *TILES))
    compare(out, references.rope(q, k, COS, SIN, POSITIONS))


def test_rope_in_place() -> None:
    """Of queries and keys as they lie beside values."""
    packed = normal(TOKENS, Q_HEADS + 2 * K_HEADS, WIDTH)
    q_and_k, values = np.split(packed, [Q_HEADS + K_HEADS], axis=1)
    expected, kept = references.rope_in_place(q_and_k, COS, SIN, POSITIONS), values.copy()
    tileverify.launch(None, (TOKENS,), kernels.rope_in_place, (COS, SIN, POSITIONS, q_and_k, *TILES))
    assert_close(q_and_k, expected)
    assert np.array_equal(values, kept)


def test_rope_keeps_to_its_tables() -> None:
    q, k, _ = heads(2)
    arguments = (q, k, COS, SIN, np.array([0, PLACES], np.int32), q.copy(), k.copy(), *TILES)
    with pytest.raises(tileverify.LaunchRefused):
        tileverify.launch(None, (2,), kernels.rope, arguments, data=[f"range(positions, 0, {PLACES})"])


def test_rope_backward() -> None:
    q, k, _ = heads(TOKENS)
    dq_out, dk_out = normal(*q.shape, seed=1), normal(*k.shape, seed=2)
    dq, dk = unwritten(*q.shape), unwritten(*k.shape)
    arguments = (dq_out, dk_out, COS, SIN, POSITIONS, dq, dk, *TILES)
    tileverify.launch(None, (TOKENS,), kernels.rope_backward, arguments)
    compare((dq, dk), references.rope_backward(dq_out, dk_out, COS, SIN, POSITIONS))
    assert_close(dk, slopes(lambda k: references.turned(k, COS, SIN, POSITIONS), k, dk_out))


def test_rope_from() -> None:
    q, k, _ = heads(TOKENS)
    start = np.array([6], np.int32)
    out = unwritten(*q.shape), unwritten(*k.shape)
    tileverify.launch(None, (LENGTH, SEQUENCES), kernels.rope_from, (q, k, COS, SIN, start, *out, *TILES))
    compare(out, references.rope_from(q, k, COS, SIN, start, SEQUENCES))


@TYPES
def test_cache_update(dtype: DTypeLike) -> None:
    _, k, v = heads(TOKENS, dtype)
    found = caches(dtype)
    arguments = (k, v, *found, 5, 2, WIDTH)
    tileverify.launch(None, (LENGTH, SEQUENCES), kernels.cache_update, arguments)
    compare(found, references.cache_update(k, v, *caches(dtype), 5))


def test_cache_update_from() -> None:
    _, k, v = heads(TOKENS)
    found, start = caches(), np.array([7], np.int32)
    arguments = (k, v, start, *found, 2, WIDTH)
    fits = "range(start, 0, k_cache.shape[2] - grid.x + 1)"
    tileverify.launch(None, (LENGTH, SEQUENCES), kernels.cache_update_from, arguments, data=[fits])
    compare(found, references.cache_update_from(k, v, start, *caches()))


def grid_of(length: int) -> tuple[int, int]:
    """For prompts of that length; decoding has blocks for tiles of heads instead."""
    return (length if length > 1 else -(-Q_HEADS // 2) + -(-K_HEADS // 2)), SEQUENCES


STARTS = np.array([7, 0, 3], np.int32)


@pytest.mark.parametrize(("kernel", "length"), [(kernels.prefill_heads, LENGTH), (kernels.decode_heads, 1)])
def test_heads_with_caches(kernel: Any, length: int) -> None:
    q, k, v = heads(SEQUENCES * length)
    q_out, found = unwritten(*q.shape), caches()
    tileverify.launch(None, grid_of(length), kernel, (q, k, v, COS, SIN, STARTS, q_out, *found, *TILES))
    compare((q_out, *found), references.prefill_heads(q, k, v, COS, SIN, STARTS, *caches()))


@TYPES
@pytest.mark.parametrize(
    ("kernel", "length"), [(kernels.prefill_normed_heads, LENGTH), (kernels.decode_normed_heads, 1)]
)
def test_normed_heads_with_caches(kernel: Any, length: int, dtype: DTypeLike) -> None:
    q, k, v = heads(SEQUENCES * length, dtype)
    weights = normal(WIDTH, dtype=dtype, seed=1), normal(WIDTH, dtype=dtype, seed=2)
    q_out, found = unwritten(*q.shape, dtype=dtype), caches(dtype)
    arguments = (q, k, v, *weights, COS, SIN, STARTS, q_out, *found, EPS, *TILES)
    tileverify.launch(None, grid_of(length), kernel, arguments)
    expected = references.prefill_normed_heads(q, k, v, *weights, COS, SIN, STARTS, *caches(dtype), EPS)
    compare((q_out, *found), expected)
