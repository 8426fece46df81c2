"""Joins in the interpreter, compared with all pairs that there are."""

from __future__ import annotations

from typing import Any

import numpy as np

import tileverify
from tileverify.kernels.device import join as device
from tileverify.kernels.references import elements as reference

Array = np.ndarray[Any, Any]
LEFT, KEYS = (np.random.default_rng(seed).integers(-9, 9, count).astype(np.int32) for seed, count in ((0, 29), (1, 37)))
STEPS = 6


def offsets_of(counts: Array) -> Array:
    result: Array = (np.cumsum(counts) - counts).astype(np.int32)
    return result


def test_join_by_chains() -> None:
    heads, following, counts = np.full(16, -1, np.int32), np.empty_like(KEYS), np.empty_like(LEFT)
    tileverify.launch(None, (5,), device.build_chains, (KEYS, heads, following, 8))
    tileverify.launch(None, (4,), device.count_in_chains, (LEFT, KEYS, heads, following, counts, 8))
    np.testing.assert_array_equal(counts, reference.count_in_chains(LEFT, KEYS))
    left, right = (np.empty(counts.sum(), np.int32) for _ in range(2))
    blocks = (-(-len(left) // 8),)
    arguments = (LEFT, KEYS, heads, following, offsets_of(counts), left, right, STEPS, 8)
    tileverify.launch(None, blocks, device.write_from_chains, arguments)
    assert sorted(zip(left.tolist(), right.tolist(), strict=True)) == reference.pairs(LEFT, KEYS)


def test_join_by_sorted_keys() -> None:
    order = np.argsort(KEYS, kind="stable").astype(np.int32)
    firsts, counts = np.empty_like(LEFT), np.empty_like(LEFT)
    tileverify.launch(None, (4,), device.count_in_sorted, (LEFT, KEYS[order], firsts, counts, STEPS, 8))
    expected = reference.count_in_sorted(LEFT, KEYS[order])
    np.testing.assert_array_equal(firsts, expected[0])
    np.testing.assert_array_equal(counts, expected[1])
    left, right = (np.empty(counts.sum(), np.int32) for _ in range(2))
    blocks = (-(-len(left) // 8),)
    arguments = (firsts, offsets_of(counts), order, left, right, STEPS, 8)
    tileverify.launch(None, blocks, device.write_from_sorted, arguments)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == reference.pairs(LEFT, KEYS)
