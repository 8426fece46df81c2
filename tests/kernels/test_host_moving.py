"""Host functions that move and add up, on arrays of NumPy, against the references; gradients, against torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal

import tileverify
from tileverify import kernels
from tileverify.kernels.references import elements as references
from tileverify.system.errors import UsageError

TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])
INDICES = pytest.mark.parametrize("index", [np.int32, np.int64], ids=["i32", "i64"])


@INDICES
def test_embedding(index: DTypeLike) -> None:
    table, ids = normal(5, 37, dtype=BFLOAT16), np.array([[4, 0, 4], [1, 2, 3]], index)
    found = kernels.embedding(table, ids)
    assert found.dtype == BFLOAT16
    assert np.array_equal(found, references.embedding(table, ids))
    for wrong in (-1, 5):
        with pytest.raises(tileverify.LaunchRefused, match=r"ids.*TV502"):
            kernels.embedding(table, np.array([0, wrong], index))


@INDICES
def test_gather_rows(index: DTypeLike) -> None:
    x, rows = normal(5, 37), np.array([[4, -1], [0, 5], [1000, 4]], index)
    assert np.array_equal(kernels.gather_rows(x, rows).reshape(6, 37), references.gather_rows(x, rows.ravel()))
    assert not kernels.gather_rows(x[:0], rows).any()


def test_stacks() -> None:
    x, stack = normal(4, 3).T, normal(3, 3, 4, seed=1)
    expected = references.to_stack(x, stack, 1)
    kernels.to_stack(x, stack, 1)
    assert np.array_equal(stack, expected)
    assert np.array_equal(kernels.from_stack(stack, 1), x)
    assert np.array_equal(kernels.from_stack(stack[::2].transpose(0, 2, 1), 1), stack[2].T)


def test_other_orders() -> None:
    x = normal(70, 5)
    assert np.array_equal(kernels.transpose(x), references.transpose(x))
    assert np.array_equal(kernels.transpose(x.T), x)
    x = normal(2, 9, 3, 70)
    assert np.array_equal(kernels.swap_heads(x), references.swap_heads(x))


@TYPES
def test_cast_and_fill(dtype: DTypeLike) -> None:
    x, name = normal(3, 50), {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}[np.dtype(dtype).name]
    found = kernels.cast(x, name)
    assert np.array_equal(found, x.astype(dtype))
    assert found.dtype == dtype
    assert kernels.cast(found, name) is found
    kernels.fill(found, 1.5)
    assert np.array_equal(found, np.full((3, 50), 1.5, dtype))


@TYPES
@pytest.mark.parametrize("name", ["row_sums", "row_means", "row_maxima"])
def test_rows(name: str, dtype: DTypeLike) -> None:
    x = normal(2, 3, 530, dtype=dtype) - 5
    found = getattr(kernels, name)(x)
    assert found.shape == (2, 3)
    assert_close(found.ravel(), getattr(references, name)(x.reshape(6, 530)))


@pytest.mark.parametrize("shape", [(2, 3, 37), (7, 9, 37)], ids=["at once", "in groups"])
def test_column_sums(shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    assert_close(kernels.column_sums(x), references.column_sums(x.reshape(-1, 37)))


def test_empty_arrays() -> None:
    none = np.zeros(0, np.int32)
    assert kernels.embedding(normal(3, 4), none).shape == kernels.gather_rows(normal(3, 4), none).shape == (0, 4)
    assert kernels.embedding(normal(3, 0), np.zeros(2, np.int32)).shape == (2, 0)
    assert kernels.from_stack(normal(2, 0, 3), 1).shape == (0, 3)
    kernels.to_stack(normal(0, 3), normal(2, 0, 3), 1)
    kernels.fill(normal(0, 3), 1.0)
    assert kernels.cast(normal(0, 3), "f16").shape == (0, 3)
    assert kernels.transpose(normal(0, 3)).shape == (3, 0)
    assert kernels.swap_heads(normal(2, 0, 3, 4)).shape == (2, 3, 0, 4)
    for function in (kernels.row_sums, kernels.row_means, kernels.row_maxima):
        assert function(normal(0, 3)).shape == (0,)
    assert kernels.row_sums(normal(2, 0)).tolist() == [0.0, 0.0]
    assert np.isnan(kernels.row_means(normal(2, 0))).all()
    assert kernels.row_maxima(normal(2, 0)).tolist() == [-np.inf, -np.inf]
    assert kernels.column_sums(normal(0, 2)).tolist() == [0.0, 0.0]
    assert kernels.column_sums(normal(2, 0)).shape == (0,)


def test_what_does_not_fit_is_told() -> None:
    x, ids = normal(3, 4), np.zeros(2, np.int32)
    told: list[tuple[Any, str]] = [
        (lambda: kernels.embedding(x[0], ids), r"`table` has the shape \(4,\), and it takes \(V, N\)"),
        (lambda: kernels.embedding(x, x[0]), "`ids` has elements of f32, and it takes i32 or i64"),
        (lambda: kernels.gather_rows(x[0], ids), "`x` has the shape"),
        (lambda: kernels.gather_rows(x, ids.astype(np.uint8)), "`rows` has elements of u8"),
        (lambda: kernels.to_stack(x[0], normal(2, 3), 0), r"`stack` has the shape \(2, 3\), and it takes \(2, 4\)"),
        (lambda: kernels.to_stack(x[0], x, 3), "`layer` is 3, and it takes 0 to 2"),
        (lambda: kernels.to_stack(x[0], normal(4, 3).T, 0), "`stack` is written where it is"),
        (lambda: kernels.from_stack(x, -1), "`layer` is -1, and it takes 0 to 2"),
        (lambda: kernels.transpose(x[0]), r"`x` has the shape \(4,\), and it takes \(M, N\)"),
        (lambda: kernels.swap_heads(x), "`x` has the shape"),
        (lambda: kernels.cast(x, "f64"), "`dtype` is 'f64', and it takes bf16 or f16 or f32"),
        (lambda: kernels.cast(ids, "f32"), "`x` has elements of i32"),
        (lambda: kernels.fill(normal(4, 3).T, 1.0), "`out` is written where it is"),
        (lambda: kernels.row_sums(np.float32(1) + np.zeros((), np.float32)), "is no array|has the shape"),
    ]
    for call, words in told:
        with pytest.raises(UsageError, match=words):
            call()


def test_gradients_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    cases: list[tuple[Any, Any, Array]] = [
        (kernels.transpose, lambda x: x.T, normal(5, 3)),
        (kernels.swap_heads, lambda x: x.transpose(1, 2), normal(2, 3, 4, 5)),
        (lambda x: kernels.cast(x, "f16"), lambda x: x.half(), normal(4, 5)),
    ]
    for ours, theirs, x in cases:
        one, two = (torch.from_numpy(x.copy()).requires_grad_() for _ in range(2))
        found, expected = ours(one), theirs(two)
        assert torch.equal(found, expected)
        dout = torch.from_numpy(normal(*expected.shape, seed=1)).to(expected.dtype)
        found.backward(dout)
        expected.backward(dout)
        assert one.grad.dtype == two.grad.dtype
        assert torch.equal(one.grad, two.grad)
    with pytest.raises(UsageError, match="embedding has no gradient"):
        kernels.embedding(torch.ones(2, 3, requires_grad=True), torch.zeros(1, dtype=torch.int32))
