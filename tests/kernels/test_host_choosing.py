"""Host functions that choose among logits, on arrays of NumPy, compared with NumPy's sort and sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.kernels.closeness import BFLOAT16, normal

from tileverify import kernels
from tileverify.kernels.references import layers as references
from tileverify.system.errors import UsageError


@pytest.mark.parametrize("shape", [(3,), (2, 5), ()], ids=["few", "more than eight", "one"])
def test_head_argmax(shape: tuple[int, ...]) -> None:
    x, weights = normal(*shape, 40, dtype=BFLOAT16), normal(37, 40, dtype=BFLOAT16, seed=1)
    found = kernels.head_argmax(x, weights)
    assert found.dtype == np.int32
    assert np.array_equal(found, (x.astype(np.float64) @ weights.T.astype(np.float64)).argmax(axis=-1))


def test_argmax() -> None:
    logits = np.round(normal(2, 3, 5000))
    logits[0, 1] = -np.inf
    logits[1, 1, 7] = np.nan
    found = kernels.argmax(logits)
    assert found.shape == (2, 3)
    assert np.array_equal(found, np.nan_to_num(logits, nan=-np.inf, neginf=-np.inf).argmax(axis=-1))


@pytest.mark.parametrize("count", [1, 5, 64])
def test_top_k(count: int) -> None:
    """In one launch, and in as many as it takes."""
    for size in (300, 2048 * 33):
        values = np.round(100 * normal(1, size))
        tops, places = kernels.top_k(values, count)
        expected = np.argsort(-values, axis=1, kind="stable")[:, :count]
        assert np.array_equal(places, expected)
        assert np.array_equal(tops, np.take_along_axis(values, expected, axis=1))


def test_top_k_of_fewer() -> None:
    tops, places = kernels.top_k(np.array([[1.0, 2.0]], np.float16), 3)
    assert tops.tolist() == [[2.0, 1.0, -np.inf]]
    assert places.tolist() == [[1, 0, -1]]


def test_sampling() -> None:
    logits, uniforms = normal(3, 3, 45), np.linspace(0.0, 0.999, 9).astype(np.float32).reshape(3, 3)
    flat, shares = logits.reshape(9, 45), uniforms.ravel()
    assert np.array_equal(kernels.sample(logits, uniforms, 0.7).ravel(), references.sample(flat, shares, 0.7))
    tops, places = kernels.top_k(logits, 13)
    for top_p in (0.0, 0.6, 1.0):
        found = kernels.sample_top(tops, places, uniforms, temperature=0.7, top_p=top_p)
        assert found.shape == (3, 3)
        expected = references.sample_top(tops.reshape(9, 13), places.reshape(9, 13), shares, 0.7, top_p)
        assert np.array_equal(found.ravel(), expected)


def test_no_rows() -> None:
    x, none = normal(0, 5), np.zeros(0, np.float32)
    assert kernels.head_argmax(x, normal(4, 5)).shape == kernels.argmax(x).shape == (0,)
    assert kernels.sample(x, none).shape == (0,)
    tops, places = kernels.top_k(x, 2)
    assert tops.shape == places.shape == (0, 2)
    assert kernels.sample_top(tops, places, none).shape == (0,)


def test_what_does_not_fit_is_told() -> None:
    x, uniforms = normal(2, 5), np.zeros(2, np.float32)
    tops, places = kernels.top_k(x, 3)
    told: list[tuple[Any, str]] = [
        (lambda: kernels.head_argmax(x, normal(4, 6)), r"`weights` has the shape \(4, 6\), and it takes \(4, 5\)"),
        (lambda: kernels.head_argmax(x, normal(0, 5)), "`weights` has nothing to choose from"),
        (lambda: kernels.argmax(x[:, :0]), "`logits` has nothing to choose from"),
        (lambda: kernels.top_k(x, 65), "`k` is 65, and it takes 1 to 64"),
        (lambda: kernels.top_k(x, 0), "`k` is 0, and it takes 1 to 64"),
        (lambda: kernels.top_k(x[:, :0], 1), "`values` has nothing to choose from"),
        (lambda: kernels.sample(x, uniforms[:1]), "`uniforms` has the shape"),
        (lambda: kernels.sample(x, uniforms.astype(np.float64)), "`uniforms` has elements of f64, and it takes f32"),
        (lambda: kernels.sample(x, uniforms, temperature=0.0), "`temperature` is 0.0, and it takes more than 0"),
        (lambda: kernels.sample(x, uniforms, temperature=float("nan")), "`temperature` is nan"),
        (lambda: kernels.sample_top(tops, places[:, :2], uniforms), "`places` has the shape"),
        (lambda: kernels.sample_top(tops, places.astype(np.int64), uniforms), "`places` has elements of i64"),
        (lambda: kernels.sample_top(tops.astype(np.float16), places, uniforms), "`values` has elements of f16"),
        (lambda: kernels.sample_top(normal(2, 65), np.zeros((2, 65), np.int32), uniforms), "`K` is 65"),
    ]
    for call, words in told:
        with pytest.raises(UsageError, match=words):
            call()
