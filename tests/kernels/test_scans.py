"""Prefix sums, histograms and reductions in the interpreter, compared with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tileverify
from tileverify.kernels.device import scans as device
from tileverify.kernels.references import elements as reference

Array = np.ndarray[Any, Any]
N, TILE, TILES = 101, 16, 7


@pytest.mark.parametrize(("exclusive", "dtype"), [(True, np.int32), (False, np.float32)])
def test_prefix_sums(exclusive: bool, dtype: type[Any]) -> None:
    x = np.random.default_rng(0).integers(-9, 9, N).astype(dtype)
    sums, starts, out = np.empty(TILES, dtype), np.empty(TILES + 1, dtype), np.empty(N, dtype)
    tileverify.launch(None, (TILES,), device.block_sums, (x, sums, TILE))
    np.testing.assert_array_equal(sums, reference.block_sums(x, TILE))
    tileverify.launch(None, (1,), device.scan_sums, (sums, starts, 4))
    np.testing.assert_array_equal(starts, reference.scan_sums(sums))
    tileverify.launch(None, (TILES,), device.scan_blocks, (x, starts, out, TILE, exclusive))
    np.testing.assert_array_equal(out, reference.scan_blocks(x, exclusive))


def test_histogram() -> None:
    values = np.random.default_rng(0).integers(-2, 9, N).astype(np.int32)
    bins = np.arange(7, dtype=np.int32)
    expected = reference.histogram(values, bins)
    tileverify.launch(None, (TILES,), device.histogram, (values, bins, TILE))
    np.testing.assert_array_equal(bins, expected)


def test_sum_and_maximum_in_two_stages() -> None:
    x = np.random.default_rng(0).integers(-99, 9, N).astype(np.float16)
    for kernel, formula in ((device.array_sum, reference.array_sum), (device.array_maximum, reference.array_maximum)):
        parts, out = np.empty(3, np.float32), np.empty(1, np.float32)
        tileverify.launch(None, (3,), kernel, (x, parts, TILE))
        np.testing.assert_array_equal(parts, formula(x, 3, TILE))
        tileverify.launch(None, (1,), kernel, (parts, out, TILE))
        np.testing.assert_array_equal(out, formula(x, 1, TILE))
