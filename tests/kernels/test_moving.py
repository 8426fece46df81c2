"""Kernels that move numbers and add up rows and columns, run in the interpreter, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal, unwritten

import tileverify
from tileverify.kernels.device import moving as kernels
from tileverify.kernels.references import elements as references

M, N, TILE = 5, 37, 16
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])


@TYPES
def test_fill(dtype: DTypeLike) -> None:
    out = unwritten(N, dtype=dtype)
    tileverify.launch(None, (3,), kernels.fill, (out, 1.5, TILE))
    assert np.array_equal(out, references.fill(N, 1.5))


@pytest.mark.parametrize("source", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])
@TYPES
def test_cast(source: DTypeLike, dtype: DTypeLike) -> None:
    x, out = normal(N, dtype=source), unwritten(N, dtype=dtype)
    tileverify.launch(None, (3,), kernels.cast, (x, out, TILE))
    assert np.array_equal(out, references.cast(x).astype(dtype))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@TYPES
def test_embedding(index: DTypeLike, dtype: DTypeLike) -> None:
    table, ids = normal(M, N, dtype=dtype), np.array([4, 0, 4, 1, 2, 3, 3], index)
    out = unwritten(len(ids), N, dtype=dtype)
    tileverify.launch(None, (3, len(ids)), kernels.embedding, (table, ids, out, TILE))
    assert np.array_equal(out, references.embedding(table, ids))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@TYPES
def test_gather_rows(index: DTypeLike, dtype: DTypeLike) -> None:
    """Also of rows that are not there."""
    x, rows = normal(M, N, dtype=dtype), np.array([4, -1, 0, 5, 2, 1000, 4], index)
    out = unwritten(len(rows), N, dtype=dtype)
    tileverify.launch(None, (3, 2), kernels.gather_rows, (x, rows, out, 4, TILE))
    assert np.array_equal(out, references.gather_rows(x, rows))


@TYPES
def test_stacks(dtype: DTypeLike) -> None:
    x, stack, out = normal(N, dtype=dtype), normal(3, N, dtype=dtype), unwritten(N, dtype=dtype)
    tileverify.launch(None, (3,), kernels.from_stack, (stack, out, 2, TILE))
    assert np.array_equal(out, references.from_stack(stack, 2))
    expected = references.to_stack(x, stack, 1)
    tileverify.launch(None, (3,), kernels.to_stack, (x, stack, 1, TILE))
    assert np.array_equal(stack, expected)


@pytest.mark.parametrize("layer", [-1, 3])
def test_a_stack_has_so_many_layers(layer: int) -> None:
    x, stack = normal(N), normal(3, N)
    with pytest.raises(tileverify.LaunchRefused):
        tileverify.launch(None, (3,), kernels.to_stack, (x, stack, layer, TILE))


@TYPES
def test_transpose(dtype: DTypeLike) -> None:
    x, out = normal(M, N, dtype=dtype), unwritten(N, M, dtype=dtype)
    tileverify.launch(None, (3, 2), kernels.transpose, (x, out, 4, TILE))
    assert np.array_equal(out, references.transpose(x))


@TYPES
def test_swap_heads(dtype: DTypeLike) -> None:
    """Twice is once there and once back."""
    x = normal(2, 5, 3, 12, dtype=dtype)
    out, back = unwritten(2, 3, 5, 12, dtype=dtype), unwritten(*x.shape, dtype=dtype)
    tileverify.launch(None, (2, 3, 2), kernels.swap_heads, (x, out, 2, 2, 8))
    assert np.array_equal(out, references.swap_heads(x))
    tileverify.launch(None, (3, 2, 2), kernels.swap_heads, (out, back, 2, 2, 8))
    assert np.array_equal(back, x)


@pytest.mark.parametrize("name", ["row_sums", "row_means", "row_maxima"])
@TYPES
def test_rows(name: str, dtype: DTypeLike) -> None:
    x, out = normal(M, N, dtype=dtype) - 5, unwritten(M)
    tileverify.launch(None, (3,), getattr(kernels, name), (x, out, 2, TILE))
    assert_close(out, getattr(references, name)(x))


@pytest.fixture
def tall() -> Array:
    return normal(23, N)


@TYPES
def test_column_sums(tall: Array, dtype: DTypeLike) -> None:
    """In two launches."""
    x, groups, out = tall.astype(dtype), unwritten(3, N), unwritten(N)
    tileverify.launch(None, (3, 3), kernels.column_sum_partials, (x, groups, 2, TILE))
    assert_close(groups, references.column_sum_partials(x, 3, 2))
    tileverify.launch(None, (3,), kernels.column_sums, (groups, out, 2, TILE))
    assert_close(out, references.column_sums(x))
