"""Host functions of products with one vector or a few, on arrays of NumPy, against the references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, normal

from tileverify import kernels
from tileverify.kernels.references import layers as references
from tileverify.system.errors import UsageError

N, K, EPS = 19, 75, 1e-5
SHAPES = pytest.mark.parametrize("shape", [(), (1, 1), (3,), (2, 5)], ids=["one", "one row", "few", "more than eight"])
CLOSE = {np.dtype(np.float32): 1e-4, np.dtype(np.float16): 1e-2, BFLOAT16: 1e-1}


def close(found: Array, expected: Array) -> None:
    tolerance = CLOSE[found.dtype]
    np.testing.assert_allclose(found.astype(np.float64), expected.reshape(found.shape), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])
@SHAPES
def test_matvec(shape: tuple[int, ...], dtype: DTypeLike) -> None:
    x, weights, residual = normal(*shape, K, dtype=dtype), normal(N, K, dtype=dtype), normal(*shape, N, dtype=dtype)
    rows = x.reshape(-1, K)
    found = kernels.matvec(x, weights)
    assert found.shape == (*shape, N)
    assert found.dtype == dtype
    close(found, references.matvecs(rows, weights))
    added = kernels.matvec(x, weights, residual=residual)
    close(added, references.matvecs_add(rows, weights, residual.reshape(-1, N)))


@SHAPES
def test_gates_and_norms(shape: tuple[int, ...]) -> None:
    x, scales = normal(*shape, K) / 8, normal(K, seed=1)
    gates, weights = normal(N, K, seed=2) / 8, normal(N, K, seed=3) / 8
    rows = x.reshape(-1, K)
    close(kernels.matvec_gated(x, gates, weights), references.matvecs_gated(rows, gates, weights))
    normed = np.stack([references.normed(row, scales, EPS) for row in rows])
    close(kernels.matvec_normed(x, scales, weights, EPS), references.matvecs(normed, weights))
    gated = kernels.matvec_normed_gated(x, scales, gates, weights, EPS)
    assert gated.shape == (*shape, N)
    close(gated, references.matvecs_gated(normed, gates, weights))


def test_experts() -> None:
    x, weights, experts = normal(3, K), normal(4, N, K), np.array([3, -1, 0], np.int32)
    close(kernels.matvec_experts(x, weights, experts), references.matvec_experts(x, weights, experts))


def test_weights_may_be_views() -> None:
    x, weights = normal(K), normal(K, N).T
    close(kernels.matvec(x, weights), references.matvec(x, weights))


def test_empty_arrays() -> None:
    x, none = normal(2, K), normal(0, K)
    assert kernels.matvec(none, normal(N, K)).shape == (0, N)
    assert kernels.matvec(x, none).shape == kernels.matvec_normed(x, normal(K), none).shape == (2, 0)
    for shape in ((0,), (1, 0), (3, 0)):
        long, short = normal(N, 0), normal(*shape)
        assert not kernels.matvec(short, long).any()
        assert not kernels.matvec_normed(short, normal(0), long).any()
        assert not kernels.matvec_normed_gated(short, normal(0), long, long).any()
    assert kernels.matvec_experts(normal(0, K), normal(2, N, K), np.zeros(0, np.int32)).shape == (0, N)
    assert not kernels.matvec_experts(normal(2, K), normal(0, N, K), np.zeros(2, np.int32)).any()


def test_what_does_not_fit_is_told() -> None:
    x, weights, scales = normal(2, K), normal(N, K), normal(K)
    told: list[tuple[Any, str]] = [
        (lambda: kernels.matvec(x, weights.T), rf"`weights` has the shape \({K}, {N}\), and it takes \({K}, {K}\)"),
        (lambda: kernels.matvec(x, weights[0]), r"`weights` has the shape .* \(N, K\)"),
        (lambda: kernels.matvec(x, weights, residual=x), "`residual` has the shape"),
        (lambda: kernels.matvec_gated(x, weights, weights[1:]), "`weights` has the shape"),
        (lambda: kernels.matvec_normed(x, scales[1:], weights), "`scales` has the shape"),
        (lambda: kernels.matvec_normed_gated(x, scales, weights[:, 1:], weights), "`gates` has the shape"),
        (lambda: kernels.matvec_experts(x, weights, np.zeros(2, np.int32)), "`weights` has the shape"),
        (lambda: kernels.matvec_experts(x, weights[None], np.zeros(3, np.int32)), "`experts` has the shape"),
        (lambda: kernels.matvec_experts(x, weights[None], np.zeros(2, np.int64)), "`experts` has elements of i64"),
    ]
    for call, words in told:
        with pytest.raises(UsageError, match=words):
            call()


def test_products_have_no_gradient() -> None:
    torch = pytest.importorskip("torch")
    x, weights = torch.ones(3), torch.ones(2, 3, requires_grad=True)
    with pytest.raises(UsageError, match=r"matvec has no gradient: .* or detach `weights`"):
        kernels.matvec(x, weights)
    assert kernels.matvec(x, weights.detach()).tolist() == [3.0, 3.0]
