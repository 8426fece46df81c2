"""Attention in the interpreter, compared with the formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tileverify
from tileverify.kernels.device import attention as device
from tileverify.kernels.references import layers as reference

Array = np.ndarray[Any, Any]
SCALE = 0.3


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


@pytest.mark.parametrize(("causal", "group", "depth"), [(True, 2, 16), (False, 1, 12)])
def test_attention(causal: bool, group: int, depth: int) -> None:
    q, k, v = normal(0, 2, 2, 37, depth), normal(1, 2, 2 // group, 37, depth), normal(2, 2, 2 // group, 37, depth)
    out = np.empty_like(q)
    tileverify.launch(None, (3, 4), device.attention, (q, k, v, out, SCALE, group, 16, 16, 16, causal))
    np.testing.assert_allclose(out, reference.attention(q, k, v, SCALE, causal), atol=4e-3)


@pytest.mark.parametrize("used", [19, 30, 45])
def test_attention_cached(used: int) -> None:
    q, k, v = normal(0, 1, 2, 19, 16), normal(1, 1, 1, 45, 16), normal(2, 1, 1, 45, 16)
    out, keys = np.empty_like(q), np.array([used], np.int32)
    expected = reference.attention_cached(q, k, v, keys, SCALE, True)
    k[:, :, max(used, 19) :] = v[:, :, max(used, 19) :] = np.nan  # what was never written
    tileverify.launch(None, (2, 2), device.attention_cached, (q, k, v, keys, out, SCALE, 2, 16, 16, 16, True))
    np.testing.assert_allclose(out, expected, atol=4e-3)


def test_decode() -> None:
    q, k, v = normal(0, 4, 2, 3, 16), normal(1, 4, 2, 70, 16), normal(2, 4, 2, 70, 16)
    lengths = np.array([0, 1, 37, 70], np.int32)
    parts, maxima, sums = (np.empty((4, 2, 3, 3, *more), np.float32) for more in ((16,), (), ()))
    expected = reference.decode_splits(q, k, v, lengths, SCALE, 3, 16)
    for b, length in enumerate(lengths[:3]):
        k[b, :, length:] = v[b, :, length:] = np.nan  # what was never written
    arrays = (q, k, v, lengths, parts, maxima, sums)
    tileverify.launch(None, (3, 2, 4), device.decode_splits, (*arrays, SCALE, 16, 16, 16))
    there = expected[2] > 0
    np.testing.assert_allclose(parts, expected[0], atol=1e-2)
    np.testing.assert_allclose(maxima[there], expected[1][there], atol=1e-2)
    np.testing.assert_allclose(sums, expected[2], atol=1e-2)

    out = np.empty_like(q)
    tileverify.launch(None, (3, 2, 4), device.decode_merge, (parts, maxima, sums, out, 4, 16))
    np.testing.assert_allclose(out, reference.decode_merge(*expected), atol=4e-3)
    alone = reference.attention(q[3:, :, :1].repeat(70, 2), k[3:], v[3:], SCALE, False)
    np.testing.assert_allclose(out[3, :, 0], alone[0, :, 0], atol=4e-3)
