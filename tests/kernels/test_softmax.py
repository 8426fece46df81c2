"""Softmax and cross entropy, run in the interpreter, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal, slopes, unwritten

import tileverify
from tileverify.kernels.device import softmax as kernels
from tileverify.kernels.references import elements as references

M, N = 5, 37
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])

SOFTMAXES = [
    (kernels.softmax, 16), (kernels.softmax_short, 64), (kernels.softmax_row, 64), (kernels.softmax_three, 16),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "tile"), SOFTMAXES)
@TYPES
def test_softmax(kernel: Any, tile: int, dtype: DTypeLike) -> None:
    x, out = 5 * normal(M, N, dtype=dtype), unwritten(M, N, dtype=dtype)
    tileverify.launch(None, (3,), kernel, (x, out, 2, tile))
    assert_close(out, references.softmax(x))


@pytest.mark.parametrize(("kernel", "tile"), SOFTMAXES)
def test_softmax_of_what_is_masked_and_large(kernel: Any, tile: int) -> None:
    x, out = 1e4 * normal(M, N), unwritten(M, N)
    x[:, 3:20] = -np.inf
    x[2, :36] = -np.inf
    tileverify.launch(None, (3,), kernel, (x, out, 2, tile))
    assert_close(out, references.softmax(x))


@pytest.mark.parametrize(
    ("kernel", "tile", "longest"),
    [(kernels.softmax_short, 64, 64), (kernels.softmax_row, 64, 64), (kernels.softmax_three, 16, 48)],
)
@pytest.mark.parametrize(("m", "missing"), [(6, 0), (5, 0), (6, 1), (6, 15)])
def test_softmax_of_rows_that_fill_their_tile_or_nearly(
    kernel: Any, tile: int, longest: int, m: int, missing: int
) -> None:
    """Borders are looked for in all but the first."""
    x, out = 5 * normal(m, longest - missing), unwritten(m, longest - missing)
    x[1] = -np.inf
    x[1, 7] = 3
    tileverify.launch(None, (3,), kernel, (x, out, 2, tile))
    assert_close(out, references.softmax(x))


@TYPES
def test_log_softmax(dtype: DTypeLike) -> None:
    x, out = 5 * normal(M, N, dtype=dtype), unwritten(M, N, dtype=dtype)
    tileverify.launch(None, (3,), kernels.log_softmax, (x, out, 2, 16))
    assert_close(out, references.log_softmax(x))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_backward(name: str) -> None:
    forward, backward = getattr(references, name), getattr(references, f"{name}_backward")
    x, dout, dx = normal(M, N), normal(M, N, seed=1), unwritten(M, N)
    out = forward(x).astype(np.float32)
    tileverify.launch(None, (3,), getattr(kernels, f"{name}_backward"), (dout, out, dx, 2, 16))
    assert_close(dx, backward(dout, out))
    assert_close(dx, slopes(forward, x, dout))


@pytest.fixture
def labels() -> Array:
    """One row is left out."""
    return np.array([0, 36, -1, 17, 5], np.int32)


@TYPES
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_cross_entropy(labels: Array, dtype: DTypeLike, index: DTypeLike) -> None:
    logits, loss, lse = 5 * normal(M, N, dtype=dtype), unwritten(M), unwritten(M)
    tileverify.launch(None, (3,), kernels.cross_entropy, (logits, labels.astype(index), loss, lse, 2, 16))
    for found, expected in zip((loss, lse), references.cross_entropy(logits, labels), strict=True):
        assert_close(found, expected)
    assert loss[2] == 0


@TYPES
def test_cross_entropy_backward(labels: Array, dtype: DTypeLike) -> None:
    logits, dloss = normal(M, N, dtype=dtype), normal(M)
    lse = references.cross_entropy(logits, labels)[1].astype(np.float32)
    dlogits = unwritten(M, N, dtype=dtype)
    arguments = (dloss, logits, labels, lse, dlogits, 2, 16)
    tileverify.launch(None, (3, 3), kernels.cross_entropy_backward, arguments)
    assert_close(dlogits, references.cross_entropy_backward(dloss, logits, labels, lse))
    if dtype == np.float32:
        assert_close(dlogits, slopes(lambda x: references.cross_entropy(x, labels)[0], logits, dloss))
