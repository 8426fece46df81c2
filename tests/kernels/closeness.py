"""How the tests of kernels make arrays and compare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Array = NDArray[Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

TOLERANCE = {np.dtype(np.float32): 2e-5, np.dtype(np.float16): 2e-3, BFLOAT16: 1.6e-2}
"""Relative to the larger of 1 and the number, by the type of what was computed."""


def normal(*shape: int, dtype: DTypeLike = np.float32, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def unwritten(*shape: int, dtype: DTypeLike = np.float32) -> Array:
    """NaN wherever nothing is written."""
    return np.full(shape, np.nan, dtype)


def assert_close(found: Array, expected: ArrayLike) -> None:
    tolerance = TOLERANCE[found.dtype]
    np.testing.assert_allclose(
        found.astype(np.float64), np.asarray(expected, np.float64), rtol=tolerance, atol=tolerance
    )


def slopes(function: Callable[[Array], ArrayLike], x: Array, dout: Array, step: float = 1e-4) -> Array:
    """The gradient of ``sum(dout * function(x))`` by central differences, in float64."""
    x = x.astype(np.float64)
    found = np.empty_like(x)
    for place in np.ndindex(x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[place] += step
        behind[place] -= step
        difference = np.asarray(function(ahead), np.float64) - np.asarray(function(behind), np.float64)
        found[place] = np.sum(dout.astype(np.float64) * difference) / (2 * step)
    return found
