"""Sorting in the interpreter, compared with NumPy's stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tileverify
from tileverify.kernels.device import sorting as device
from tileverify.kernels.references import elements as reference

Array = np.ndarray[Any, Any]


def keys_of(count: int, low: int, high: int) -> Array:
    return np.random.default_rng(0).integers(low, high, count).astype(np.int32)


@pytest.mark.parametrize("shift", [0, 28])
def test_pass_of_a_radix_sort(shift: int) -> None:
    keys = keys_of(53, -(2**31), 2**31)
    counts, places, out = np.empty((16, 4), np.int32), np.empty(53, np.int32), np.empty(53, np.int32)
    tileverify.launch(None, (4,), device.digit_counts, (keys, counts, shift, 16))
    np.testing.assert_array_equal(counts, reference.digit_counts(keys, shift, 16))
    starts = (np.cumsum(counts) - counts.ravel()).reshape(16, 4).astype(np.int32)
    tileverify.launch(None, (4,), device.digit_places, (keys, starts, places, shift, 16))
    np.testing.assert_array_equal(places, reference.digit_places(keys, shift))
    tileverify.launch(None, (4,), device.move, (keys, places, out, 16), data=["permutation(places)"])
    np.testing.assert_array_equal(out, reference.move(keys, places))


def test_merge_sort() -> None:
    keys, values = keys_of(53, -9, 9), np.arange(53, dtype=np.int32)
    keys[7] = 2**31 - 1
    sorted_keys, sorted_values = np.empty_like(keys), np.empty_like(values)
    tileverify.launch(None, (4,), device.sort_tiles, (keys, values, sorted_keys, sorted_values, 16))
    expected = reference.sort_tiles(keys, values, 16)
    np.testing.assert_array_equal(sorted_keys, expected[0])
    np.testing.assert_array_equal(sorted_values, expected[1])
    for bits in (4, 5):
        source = sorted_keys.copy(), sorted_values.copy()
        tileverify.launch(None, (7,), device.merge_runs, (*source, sorted_keys, sorted_values, bits, 8))
        expected = reference.merge_runs(*source, bits)
        np.testing.assert_array_equal(sorted_keys, expected[0])
        np.testing.assert_array_equal(sorted_values, expected[1])
    np.testing.assert_array_equal(sorted_values, np.argsort(keys, kind="stable"))
