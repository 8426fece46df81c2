"""Activations, gates and dropout, run in the interpreter, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal, slopes, unwritten

import tileverify
from tileverify.kernels.device import activations
from tileverify.kernels.references import elements as references

N, TILE, GRID = 77, 16, (5,)
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])


@pytest.mark.parametrize("name", ["silu", "gelu", "relu"])
@TYPES
def test_forward(name: str, dtype: DTypeLike) -> None:
    x, out = 3 * normal(N, dtype=dtype), unwritten(N, dtype=dtype)
    tileverify.launch(None, GRID, getattr(activations, name), (x, out, TILE))
    assert_close(out, getattr(references, name)(x))


@pytest.mark.parametrize("name", ["add", "silu_mul", "gelu_mul"])
@TYPES
def test_forward_of_two(name: str, dtype: DTypeLike) -> None:
    x, y, out = 3 * normal(N, dtype=dtype), normal(N, dtype=dtype, seed=1), unwritten(N, dtype=dtype)
    tileverify.launch(None, GRID, getattr(activations, name), (x, y, out, TILE))
    assert_close(out, getattr(references, name)(x, y))


@pytest.mark.parametrize("name", ["silu", "gelu", "relu"])
def test_backward(name: str) -> None:
    x, dout, dx = 3 * normal(N), normal(N, seed=1), unwritten(N)
    tileverify.launch(None, GRID, getattr(activations, f"{name}_backward"), (dout, x, dx, TILE))
    assert_close(dx, getattr(references, f"{name}_backward")(dout, x))
    assert_close(dx, slopes(getattr(references, name), x, dout))


@pytest.mark.parametrize("name", ["silu_mul", "gelu_mul"])
def test_backward_of_gates(name: str) -> None:
    gate, up, dout = 3 * normal(N), normal(N, seed=1), normal(N, seed=2)
    dgate, dup = unwritten(N), unwritten(N)
    tileverify.launch(None, GRID, getattr(activations, f"{name}_backward"), (dout, gate, up, dgate, dup, TILE))
    forward: Callable[[Any, Any], Array] = getattr(references, name)
    for found, expected in zip((dgate, dup), getattr(references, f"{name}_backward")(dout, gate, up), strict=True):
        assert_close(found, expected)
    assert_close(dgate, slopes(lambda gate: forward(gate, up), gate, dout))
    assert_close(dup, slopes(lambda up: forward(gate, up), up, dout))


@TYPES
def test_packed_gates(dtype: DTypeLike) -> None:
    gate_up, dout = 3 * normal(5, 2, 37, dtype=dtype), normal(5, 37, dtype=dtype)
    out, dgate_up = unwritten(5, 37, dtype=dtype), unwritten(5, 2, 37, dtype=dtype)
    tileverify.launch(None, (3, 3), activations.silu_mul_packed, (gate_up, out, 2, 16))
    assert_close(out, references.silu_mul_packed(gate_up))
    tileverify.launch(None, (3, 3), activations.silu_mul_packed_backward, (dout, gate_up, dgate_up, 2, 16))
    assert_close(dgate_up, references.silu_mul_packed_backward(dout, gate_up))
    if dtype == np.float32:
        assert_close(dgate_up, slopes(references.silu_mul_packed, gate_up, dout))


def test_far_from_zero() -> None:
    x, out = np.array([-1e4, -100, 100, 1e4], np.float32), unwritten(4)
    for kernel in (activations.silu, activations.gelu):
        tileverify.launch(None, (1,), kernel, (x, out, 4))
        assert_close(out, [0, 0, 100, 1e4])


def test_the_generator_is_philox() -> None:
    """Known answers of Random123 for the counter (0, 0) and the key 0."""
    assert hex(references.random_words(1, 0, 0, rounds=7)[0]) == "0x257a3673"
    assert hex(references.random_words(1, 0, 0, rounds=10)[0]) == "0xff1dae59"


@TYPES
@pytest.mark.parametrize(("keep", "stream", "seed"), [(0.7, 3, 12345), (0.25, -1, -7)])
def test_dropout(dtype: DTypeLike, keep: float, stream: int, seed: int) -> None:
    x, out = normal(N, dtype=dtype), unwritten(N, dtype=dtype)
    tileverify.launch(None, GRID, activations.dropout, (x, out, keep, stream, seed, TILE))
    assert_close(out, references.dropout(x, keep, stream, seed))


def test_dropout_is_the_same_for_every_tile() -> None:
    """And so for the gradient, whatever tile that takes."""
    x, out, dx = normal(N), unwritten(N), unwritten(N)
    tileverify.launch(None, GRID, activations.dropout, (x, out, 0.5, 0, 1, TILE))
    tileverify.launch(None, (2,), activations.dropout, (x, dx, 0.5, 0, 1, 64))
    assert np.array_equal(out, dx)
    assert_close(dx, slopes(lambda y: references.dropout(y, 0.5, 0, 1), x, x))


def test_dropout_keeps_as_many_as_it_should() -> None:
    kept = references.dropout(np.ones(100_000), 0.3, 5, 99) > 0
    assert abs(kept.mean() - 0.3) < 0.005
    other = references.dropout(np.ones(100_000), 0.3, 6, 99) > 0
    assert abs((kept & other).mean() - 0.09) < 0.005
