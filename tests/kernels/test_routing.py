"""The way of tokens to their experts and back in the interpreter, compared with plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tileverify
from tileverify.kernels.device import routing as device
from tileverify.kernels.device.grouped_products import matmul_experts
from tileverify.kernels.references import layers as reference

Array = np.ndarray[Any, Any]
TOKENS, EXPERTS, CHOSEN, ALIGN = 21, 6, 2, 8


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


@pytest.mark.parametrize("renormalize", [True, False])
def test_route(renormalize: bool) -> None:
    logits = np.round(2 * normal(0, TOKENS, EXPERTS))
    experts, weights = np.empty((TOKENS, 3), np.int32), np.empty((TOKENS, 3), np.float32)
    tileverify.launch(None, (3,), device.route, (logits, experts, weights, 8, 8, 4, renormalize))
    expected = reference.route(logits, 3, renormalize)
    np.testing.assert_array_equal(experts, expected[0])
    np.testing.assert_allclose(weights, expected[1], rtol=1e-5)


def test_from_choices_to_places() -> None:
    experts = np.random.default_rng(0).choice([0, 1, 3, 5], TOKENS * CHOSEN).astype(np.int32)
    counts, offsets = np.empty(EXPERTS, np.int32), np.empty(EXPERTS + 1, np.int32)
    tileverify.launch(None, (EXPERTS,), device.expert_counts, (experts, counts, 16))
    np.testing.assert_array_equal(counts, reference.expert_counts(experts, EXPERTS))
    tileverify.launch(None, (1,), device.expert_offsets, (counts, offsets, 4, ALIGN))
    np.testing.assert_array_equal(offsets, reference.expert_offsets(counts, ALIGN))
    of_tiles = np.empty(11, np.int32)
    tileverify.launch(None, (2,), device.tile_experts, (offsets, of_tiles, 8, 4, ALIGN))
    np.testing.assert_array_equal(of_tiles, reference.tile_experts(offsets, 11, ALIGN))
    places = np.empty_like(experts)
    tileverify.launch(None, (EXPERTS,), device.expert_places, (experts, offsets, places, 16))
    np.testing.assert_array_equal(places, reference.expert_places(experts, offsets))


def test_there_and_back() -> None:
    rows = 50
    places = np.random.default_rng(0).permutation(rows)[: TOKENS * CHOSEN].astype(np.int32).reshape(TOKENS, CHOSEN)
    places[3, 1] = -1
    x, out = normal(0, TOKENS, 20), normal(1, rows, 20)
    expected = reference.dispatch(x, places, out)
    arguments = (x, places.reshape(-1), out, 16)
    tileverify.launch(
        None, (TOKENS, 2, CHOSEN), device.dispatch, arguments, data=["injective(places, 0, out.shape[0])"]
    )
    np.testing.assert_array_equal(out, expected)
    weights, back = np.random.default_rng(2).random((TOKENS, CHOSEN), np.float32), np.empty_like(x)
    tileverify.launch(None, (TOKENS, 2), device.combine, (out, places, weights, back, 16))
    np.testing.assert_allclose(back, reference.combine(out, places, weights), atol=2e-3)


def test_a_layer_of_experts() -> None:
    """All kernels one after the other: each token's experts, weighted, as if each had been multiplied alone."""
    x, layers = normal(0, TOKENS, 20), normal(1, EXPERTS, 18, 20)
    logits = normal(2, TOKENS, EXPERTS)
    experts, weights = np.empty((TOKENS, CHOSEN), np.int32), np.empty((TOKENS, CHOSEN), np.float32)
    tileverify.launch(None, (3,), device.route, (logits, experts, weights, 8, 8, 4, True))
    counts, offsets = np.empty(EXPERTS, np.int32), np.empty(EXPERTS + 1, np.int32)
    tileverify.launch(None, (EXPERTS,), device.expert_counts, (experts.ravel(), counts, 16))
    tileverify.launch(None, (1,), device.expert_offsets, (counts, offsets, 4, ALIGN))
    tiles = (TOKENS * CHOSEN + EXPERTS * (ALIGN - 1)) // ALIGN
    of_tiles, places = np.empty(tiles, np.int32), np.empty((TOKENS, CHOSEN), np.int32)
    tileverify.launch(None, (-(-tiles // 8),), device.tile_experts, (offsets, of_tiles, 8, 4, ALIGN))
    tileverify.launch(None, (EXPERTS,), device.expert_places, (experts.ravel(), offsets, places.reshape(-1), 16))
    rows, results = np.zeros((tiles * ALIGN, 20), np.float16), np.zeros((tiles * ALIGN, 18), np.float16)
    facts = ["injective(places, 0, out.shape[0])"]
    tileverify.launch(None, (TOKENS, 2, CHOSEN), device.dispatch, (x, places.ravel(), rows, 16), data=facts)
    tileverify.launch(None, (tiles, 2), matmul_experts, (rows, layers, of_tiles, results, ALIGN, 16, 16))
    out = np.empty((TOKENS, 18), np.float16)
    tileverify.launch(None, (TOKENS, 2), device.combine, (results, places, weights, out, 16))

    chosen, shares = reference.route(logits, CHOSEN, True)
    alone = np.einsum("tk,tknd,td->tn", shares, layers.astype(np.float64)[chosen], x.astype(np.float64))
    np.testing.assert_allclose(out, alone, atol=2e-2)
