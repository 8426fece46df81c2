"""What the benchmarks' kernels compute, small and in the interpreter, launched through their proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.gpu.kernels import attention, direct, products, rows
from numpy.typing import NDArray

import tileverify

Array = NDArray[Any]


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(7).normal(size=shape).astype(dtype)


def poisoned(*shape: int, dtype: Any = np.float32) -> Array:
    return np.full(shape, np.nan, dtype)


def close(found: Array, expected: Array, tolerance: float = 1e-5) -> bool:
    return bool(np.linalg.norm(found - expected) <= tolerance * np.linalg.norm(expected))


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Array = powers / powers.sum(axis=-1, keepdims=True)
    return shares


@pytest.mark.parametrize("columns", [32, 48])
def test_functions_of_rows(columns: int) -> None:
    """Also where rows do not fill their tile, and with fewer blocks than tiles."""
    x, weight, bias = random(8, columns), random(columns) + 1, random(columns) - 1
    wide, out = x.astype(np.float64), poisoned(8, columns)
    tile = 1 << (columns - 1).bit_length()
    tileverify.launch(None, (3,), rows.softmax, (x, out, 2, tile))
    assert close(out, softmax(wide))
    out[:] = np.nan
    tileverify.launch(None, (4,), rows.rms_norm, (x, weight, out, 1e-5, 2, tile))
    assert close(out, wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5) * weight)
    out[:] = np.nan
    tileverify.launch(None, (3,), rows.layer_norm, (x, weight, bias, out, 1e-5, 2, tile))
    centred = wide - wide.mean(axis=1, keepdims=True)
    assert close(out, centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * weight + bias)


@pytest.mark.parametrize(
    ("form", "tile", "columns"), [("once", 32, 32), ("once", 32, 30), ("three", 16, 48), ("three", 16, 40)]
)
def test_functions_of_rows_that_load_themselves(form: str, tile: int, columns: int) -> None:
    """Rows that fill their tiles, and such that do not."""
    x, weight, bias = random(6, columns), random(columns) + 1, random(columns) - 1
    wide, grid, constants = x.astype(np.float64), (6,), (1, tile)
    scale = 1 / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-5)
    centred = wide - wide.mean(axis=1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    for name, given, expected in (
        ("softmax", (x,), softmax(wide)),
        ("rms_norm", (x, weight), wide * scale * weight),
        ("layer_norm", (x, weight, bias), normed * weight + bias),
    ):
        out, eps = poisoned(6, columns), () if name == "softmax" else (1e-5,)
        tileverify.launch(None, grid, getattr(direct, f"{name}_{form}"), (*given, out, *eps, *constants))
        assert close(out, expected)


def test_sums_that_are_stored_directly() -> None:
    x, y, out = random(100), random(100), poisoned(100)
    tileverify.launch(None, (4,), direct.add_direct, (x, y, out, 32))
    assert close(out, x + y)


def test_products() -> None:
    a, b = random(80, 48, dtype=np.float16), random(48, 112, dtype=np.float16)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    for kernel, grid, more in (
        (products.matmul, 12, ()),
        (products.matmul_hinted, 12, (5,)),
        (products.matmul_persistent, 5, ()),
    ):
        out = poisoned(80, 112, dtype=np.float16)
        tileverify.launch(None, (grid,), kernel, (a, b, out, 32, 32, 16, 2, *more))
        assert close(out, expected, 1e-3)


@pytest.mark.parametrize(("causal", "keys"), [(False, 80), (True, 64)])
def test_attention(causal: bool, keys: int) -> None:
    """Two query heads for each head of keys; the last tiles of both are cut off."""
    queries = 40 if not causal else keys
    q, k, v = random(2, 4, queries, 16), random(2, 2, keys, 16), random(2, 2, keys, 16)
    out = poisoned(*q.shape)
    arguments = (q, k, v, out, 0.25, 16, 16, 32, 2, causal, 3)
    tileverify.launch(None, (-(-queries // 16), 8), attention.attention, arguments)
    k, v = (np.repeat(each, 2, axis=1).astype(np.float64) for each in (k, v))
    scores = 0.25 * q.astype(np.float64) @ k.swapaxes(2, 3)
    if causal:
        scores[..., np.triu_indices(keys, 1)[0], np.triu_indices(keys, 1)[1]] = -np.inf
    assert close(out, softmax(scores) @ v, 1e-4)


def test_decoding() -> None:
    """Three splits of five tiles of keys, the last one cut off."""
    q, k, v = random(2, 2, 4, 16), random(2, 2, 72, 16), random(2, 2, 72, 16)
    sums, bests, totals, out = poisoned(4, 3, 8, 16), poisoned(4, 3, 8), poisoned(4, 3, 8), poisoned(4, 4, 16)
    arguments = (q, k, v, sums, bests, totals, 0.25, 16, 16, 8)
    tileverify.launch(None, (3, 2, 2), attention.decode_part, arguments)
    tileverify.launch(None, (4, 4), attention.decode_whole, (sums, bests, totals, out, 16, 4))
    expected = softmax(0.25 * q.astype(np.float64) @ k.swapaxes(2, 3)) @ v
    assert close(out.reshape(expected.shape), expected, 1e-4)
