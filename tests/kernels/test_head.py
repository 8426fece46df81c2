"""Largest elements and sampling in the interpreter, compared with NumPy's sort and sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tileverify
from tileverify.kernels.device import head as device
from tileverify.kernels.references import layers as reference

Array = np.ndarray[Any, Any]


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def room_for(*shape: int) -> tuple[Array, Array]:
    return np.empty(shape, np.float32), np.empty(shape, np.int32)


def test_head_argmax() -> None:
    x, weights = normal(0, 3, 40), normal(1, 37, 40)
    maxima, places = room_for(3, 10)
    tileverify.launch(None, (10,), device.head_argmax, (x, weights, maxima, places, 4, 4, 32))
    expected = reference.head_argmax(x, weights, 4)
    np.testing.assert_allclose(maxima, expected[0], atol=1e-3)
    np.testing.assert_array_equal(places, expected[1])
    out = np.empty(3, np.int32)
    tileverify.launch(None, (3,), device.argmax_merge, (maxima, places, out, 4))
    np.testing.assert_array_equal(out, (x.astype(np.float64) @ weights.T.astype(np.float64)).argmax(axis=1))


def test_argmax_of_equal_ones_and_of_none() -> None:
    logits = np.round(normal(0, 3, 77))
    logits[1] = -np.inf
    maxima, places = room_for(3, 5)
    tileverify.launch(None, (5, 3), device.argmax_blocks, (logits, maxima, places, 16))
    expected = reference.argmax_blocks(logits, 16)
    np.testing.assert_array_equal(maxima, expected[0])
    np.testing.assert_array_equal(places, expected[1])
    out = np.empty(3, np.int32)
    tileverify.launch(None, (3,), device.argmax_merge, (maxima, places, out, 4))
    np.testing.assert_array_equal(out, reference.argmax_merge(*expected))
    np.testing.assert_array_equal(out, logits.argmax(axis=1))


def test_top_k() -> None:
    values = np.round(4 * normal(0, 2, 67))
    values[0, ::3] = -np.inf
    tops, places = room_for(2, 3, 4)
    tileverify.launch(None, (3, 2), device.top_k_blocks, (values, tops, places, 32, 8))
    expected = reference.top_k_blocks(values, 4, 32)
    np.testing.assert_array_equal(tops, expected[0])
    np.testing.assert_array_equal(places, expected[1])

    candidates, named = tops.reshape(2, 12), places.reshape(2, 12)
    tops, places = room_for(2, 1, 4)
    tileverify.launch(None, (1, 2), device.top_k_merge, (candidates, named, tops, places, 16, 8))
    expected = reference.top_k_merge(candidates, named, 4, 16)
    np.testing.assert_array_equal(tops, expected[0])
    np.testing.assert_array_equal(places, expected[1])
    np.testing.assert_array_equal(places[:, 0], np.argsort(-values, axis=1, kind="stable")[:, :4])


def test_sample() -> None:
    logits = normal(0, 9, 45)
    logits[:, 3] = -np.inf
    uniforms, out = np.linspace(0.0, 0.999, 9).astype(np.float32), np.empty(9, np.int32)
    tileverify.launch(None, (9,), device.sample, (logits, uniforms, out, 0.7, 16))
    np.testing.assert_array_equal(out, reference.sample(logits, uniforms, 0.7))


@pytest.mark.parametrize("top_p", [0.0, 0.6, 1.0])
def test_sample_top(top_p: float) -> None:
    values = -np.sort(-normal(0, 9, 13), axis=1).astype(np.float32)
    places = np.random.default_rng(1).integers(0, 1000, values.shape).astype(np.int32)
    uniforms, out = np.linspace(0.0, 0.999, 9).astype(np.float32), np.empty(9, np.int32)
    tileverify.launch(None, (9,), device.sample_top, (values, places, uniforms, out, 0.7, top_p, 16))
    np.testing.assert_array_equal(out, reference.sample_top(values, places, uniforms, 0.7, top_p))
