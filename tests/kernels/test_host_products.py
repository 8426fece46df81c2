"""Host functions for products on arrays of NumPy, against the references; their gradients, against torch's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.command_line import CommandLine
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal

import tileverify as tileverify_package
from tileverify import kernels
from tileverify.kernels import prepared, products
from tileverify.kernels.references import layers as grouped_reference
from tileverify.kernels.references import layers as reference
from tileverify.system.errors import UsageError

TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])


def small(*shape: int, dtype: DTypeLike = np.float32, seed: int = 0) -> Array:
    """Numbers whose products add up without an error, so that all orders give the same."""
    return np.random.default_rng([seed, *shape]).integers(-2, 3, shape).astype(dtype)


@TYPES
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(dtype: DTypeLike, transposed: bool) -> None:
    a, b = normal(2, 3, 9, dtype=dtype), normal(9, 5, dtype=dtype, seed=1)
    given = b.T if transposed else b
    found = kernels.matmul(a, given, transposed=transposed)
    assert (found.shape, found.dtype) == ((2, 3, 5), dtype)
    assert_close(found, reference.matmul(a, b))
    residual = normal(2, 3, 5, dtype=dtype, seed=2)
    added = kernels.matmul(a, given, residual, transposed=transposed)
    assert added.shape == residual.shape
    assert_close(added, reference.matmul(a, b) + residual.astype(np.float64))


@pytest.mark.parametrize("transposed", [False, True])
def test_matmul_of_several_tiles(transposed: bool) -> None:
    a, b = small(130, 70), small(70, 131)
    np.testing.assert_array_equal(kernels.matmul(a, b.T if transposed else b, transposed=transposed), a @ b)


@pytest.mark.parametrize("transposed", [False, True])
def test_matmul_of_each_batch(transposed: bool) -> None:
    a, b = normal(2, 3, 4, 7), normal(2, 3, 7, 5, seed=1)
    found = kernels.matmul(a, b.swapaxes(-1, -2) if transposed else b, transposed=transposed)
    assert_close(found, reference.matmul_batched(a, b))


@pytest.mark.parametrize("transposed", [False, True])
def test_a_small_result_is_computed_in_shares(transposed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[str] = []
    real = prepared.launch

    def noted(kernel: str, grid: Any, *arguments: Any, **options: Any) -> None:
        launched.append(f"{kernel} {grid}")
        real(kernel, grid, *arguments, **options)

    monkeypatch.setattr(products, "launch", noted)
    monkeypatch.setattr(products, "processors", lambda like: 3)
    a, b = small(3, 1030), small(1030, 20)
    np.testing.assert_array_equal(kernels.matmul(a, b.T if transposed else b, transposed=transposed), a @ b)
    kind = "_transposed" if transposed else ""
    assert launched == [f"products.matmul{kind}_splits (1, 1, 3)", "products.sum_splits (1, 1)"]


@pytest.mark.parametrize(
    ("sizes", "splits"),
    [((1, 128, 4096), 8), ((1, 128, 600), 2), ((129, 128, 4096), 4), ((1, 2000, 4096), 1), ((1, 1, 1), 1)],
)
def test_how_many_shares(sizes: tuple[int, int, int], splits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "processors", lambda like: 8)
    assert products._splits(*sizes, None) == splits


def test_products_without_elements() -> None:
    assert kernels.matmul(normal(0, 4), normal(4, 3)).shape == (0, 3)
    assert kernels.matmul(normal(2, 4), normal(4, 0)).shape == (2, 0)
    np.testing.assert_array_equal(kernels.matmul(normal(2, 0), normal(0, 3)), np.zeros((2, 3)))
    residual = normal(2, 3)
    added = kernels.matmul(normal(2, 0), normal(0, 3), residual)
    assert added is not residual
    np.testing.assert_array_equal(added, residual)
    assert kernels.matmul(normal(0, 2, 4), normal(0, 4, 3)).shape == (0, 2, 3)
    np.testing.assert_array_equal(kernels.matmul(normal(2, 2, 0), normal(2, 0, 3)), np.zeros((2, 2, 3)))


@pytest.mark.parametrize(
    ("shapes", "options", "told"),
    [
        ([(3, 4), (5, 6)], {}, r"`b` has the shape \(5, 6\), and it takes \(4, 6\)"),
        ([(3, 4), (5, 6)], {"transposed": True}, r"`b` has the shape \(5, 6\), and it takes \(5, 4\)"),
        ([(3, 4), (4,)], {}, r"the shapes \(3, 4\) and \(4,\) have no product"),
        ([(), (4, 4)], {}, "have no product"),
        ([(3, 4), (4, 6), (3, 5)], {}, r"`residual` has the shape \(3, 5\), and it takes \(3, 6\)"),
        ([(2, 3, 4), (3, 4, 6)], {}, r"`b` has the shape \(3, 4, 6\), and it takes \(2, 4, 6\)"),
        ([(2, 3, 4), (2, 4, 6), (2, 3, 6)], {}, "a `residual` is added to a product with a `b` of two axes"),
    ],
)
def test_shapes_without_a_product_are_told(shapes: list[tuple[int, ...]], options: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        kernels.matmul(*(normal(*shape) for shape in shapes), **options)


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3)])
def test_other_elements_are_told(shape: tuple[int, ...]) -> None:
    a, b = normal(*shape).swapaxes(-1, -2), normal(*shape)
    with pytest.raises(UsageError, match="`b` has elements of f16, and it takes f32"):
        kernels.matmul(a, b.astype(np.float16))
    with pytest.raises(UsageError, match="`a` has elements of i32, and it takes bf16 or f16 or f32"):
        kernels.matmul(a.astype(np.int32), b.astype(np.int32))
    with pytest.raises(UsageError, match="`residual` has elements of f16, and it takes f32"):
        kernels.matmul(normal(2, 3), normal(3, 4), normal(2, 4, dtype=np.float16))


# ------------------------------------------------------------------------------------------ 8-bit floats
def test_matmul_scaled(tileverify: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a bundle: cuda.tile takes no arrays of NumPy with such elements."""
    device = Path(prepared.__file__).parent / "device" / "products.py"
    built = tileverify("build", f"{device}::matmul_scaled::any-size", "-o", "scaled.tvk", "--arch", "none")
    assert built.code == 0, built.err
    monkeypatch.setattr(prepared, "at_hand", prepared.AtHand())
    assert kernels.use(Path.cwd()) == 1
    a, b = (normal(*shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((3, 200), (130, 200)))
    a_scales, b_scales = (np.abs(normal(*shape, seed=1)) + 0.5 for shape in ((3, 2), (2, 2)))
    found = kernels.matmul_scaled(a, b, a_scales, b_scales)
    expected = reference.matmul_scaled(a, b, a_scales, b_scales, 128, 128)
    assert found.dtype == BFLOAT16
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=1e-2, atol=1e-2)
    assert kernels.matmul_scaled(a[:0], b, a_scales[:0], b_scales).shape == (0, 130)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"b": (7, 100)}, r"`b` has the shape \(7, 100\), and it takes \(7, 200\)"),
        ({"a_scales": (3, 1)}, r"`a_scales` has the shape \(3, 1\), and it takes \(3, 2\)"),
        ({"b_scales": (2, 2)}, r"`b_scales` has the shape \(2, 2\), and it takes \(1, 2\)"),
        ({"a": (200,)}, r"`a` has the shape \(200,\), and it takes \(M, K\)"),
    ],
)
def test_scales_of_other_shapes_are_told(change: dict[str, tuple[int, ...]], told: str) -> None:
    shapes = {"a": (3, 200), "b": (7, 200), "a_scales": (3, 2), "b_scales": (1, 2)} | change
    arrays = {name: normal(*shape) for name, shape in shapes.items()}
    with pytest.raises(UsageError, match=told):
        kernels.matmul_scaled(**arrays)


def test_scaled_products_take_8_bits() -> None:
    with pytest.raises(UsageError, match="`a` has elements of f32, and it takes f8e4m3"):
        kernels.matmul_scaled(normal(3, 200), normal(7, 200), normal(3, 2), normal(1, 2))


# ------------------------------------------------------------------------------------------ many products
def test_matmul_list() -> None:
    sizes = [(70, 20, 18), (5, 3, 40), (0, 3, 4), (2, 0, 3), (1, 1, 1)]
    a, b = [normal(m, k) for m, k, _ in sizes], [normal(k, n, seed=1) for _, k, n in sizes]
    for found, expected in zip(kernels.matmul_list(a, b), grouped_reference.matmul_list(a, b), strict=True):
        assert_close(found, expected)
    assert kernels.matmul_list([], []) == []
    assert [each.shape for each in kernels.matmul_list(a[2:3], b[2:3])] == [(0, 4)]


def test_lists_that_do_not_fit_are_told() -> None:
    one, other = normal(2, 3), normal(3, 4)
    with pytest.raises(UsageError, match="`a` has 2 arrays and `b` 1"):
        kernels.matmul_list([one, one], [other])
    with pytest.raises(UsageError, match=r"`b\[1\]` has the shape \(2, 3\), and it takes \(3, 3\)"):
        kernels.matmul_list([one, one], [other, one])
    with pytest.raises(UsageError, match=r"`b\[0\]` has elements of f16, and it takes f32"):
        kernels.matmul_list([one], [other.astype(np.float16)])
    with pytest.raises(UsageError, match=r"`a\[0\]` has the shape \(3,\), and it takes \(M, K\)"):
        kernels.matmul_list([one[0]], [other])


@TYPES
def test_matmul_experts(dtype: DTypeLike) -> None:
    x, weights = normal(150, 9, dtype=dtype), normal(3, 11, 9, dtype=dtype, seed=1)
    experts = np.array([2, -1, 0], np.int32)
    expected = grouped_reference.matmul_experts(x, weights, experts, products.ROWS)
    assert_close(kernels.matmul_experts(x, weights, experts), expected)


def test_matmul_segments() -> None:
    x, weights = normal(90, 9), normal(4, 11, 9, seed=1)
    offsets = np.array([0, 70, 70, 72, 85], np.int32)
    expected = grouped_reference.matmul_segments(x, weights, offsets)
    assert_close(kernels.matmul_segments(x, weights, offsets), expected)
    for wrong in ([0, 70, 60, 72, 85], [0, 70, 70, 72, 91], [-1, 0, 0, 0, 0]):
        with pytest.raises(tileverify_package.LaunchRefused, match="TV50"):
            kernels.matmul_segments(x, weights, np.array(wrong, np.int32))


def test_experts_without_elements() -> None:
    one, weights = np.zeros(1, np.int32), normal(1, 4, 3)
    assert kernels.matmul_experts(normal(0, 3), weights, one[:0]).shape == (0, 4)
    assert kernels.matmul_segments(normal(0, 3), weights, np.zeros(2, np.int32)).shape == (0, 4)
    np.testing.assert_array_equal(kernels.matmul_segments(normal(2, 3), weights[:0], one), np.zeros((2, 4)))
    np.testing.assert_array_equal(kernels.matmul_experts(normal(2, 0), weights[..., :0], one), np.zeros((2, 4)))


@pytest.mark.parametrize(
    ("function", "shapes", "told"),
    [
        (kernels.matmul_experts, [(70, 3), (2, 4, 5), (2,)], r"`weights` has the shape \(2, 4, 5\), and it takes"),
        (kernels.matmul_experts, [(70, 3), (2, 4, 3), (1,)], r"`experts` has the shape \(1,\), and it takes \(2,\)"),
        (kernels.matmul_experts, [(70,), (2, 4, 3), (2,)], r"`x` has the shape \(70,\), and it takes \(R, K\)"),
        (kernels.matmul_segments, [(70, 3), (4, 3), (3,)], r"`weights` has the shape \(4, 3\), and it takes \(E, N"),
        (kernels.matmul_segments, [(70, 3), (2, 4, 3), (2,)], r"`offsets` has the shape \(2,\), and it takes \(3,\)"),
        (kernels.matmul_segments, [(70, 3), (2, 4, 3), (3,)], "`offsets` has elements of f32, and it takes i32"),
    ],
)  # fmt: skip
def test_experts_that_do_not_fit_are_told(function: Any, shapes: list[tuple[int, ...]], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        function(*(normal(*shape) for shape in shapes))


# --------------------------------------------------------------------------------------------------- torch
@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_are_those_of_torch(transposed: bool) -> None:
    torch = pytest.importorskip("torch")

    def product(a: Any, b: Any, residual: Any = 0) -> Any:
        return torch.matmul(a, b.mT if transposed else b) + residual

    b = normal(5, 7) if transposed else normal(7, 5)
    batch = normal(2, 5, 7) if transposed else normal(2, 7, 5)
    for arrays in ((normal(2, 3, 7), b), (normal(3, 7), b, normal(3, 5)), (normal(2, 3, 7), batch), (normal(7), b)):
        mine, other = ([torch.from_numpy(each.copy()).requires_grad_() for each in arrays] for _ in range(2))
        found, expected = kernels.matmul(*mine, transposed=transposed), product(*other)
        assert_close(found.detach().numpy(), expected.detach().numpy())
        dout = torch.from_numpy(normal(*expected.shape, seed=4))
        found.backward(dout)
        expected.backward(dout)
        for one, two in zip(mine, other, strict=True):
            assert_close(one.grad.numpy(), two.grad.numpy())


def test_what_has_no_gradient_is_told() -> None:
    torch = pytest.importorskip("torch")
    x, weights = torch.ones(2, 3, requires_grad=True), torch.ones(1, 4, 3)
    places = torch.zeros(2, 1, dtype=torch.int32)
    calls: list[tuple[str, Any]] = [
        ("matmul_list", lambda: kernels.matmul_list([x], [weights[0].T])),
        ("matmul_experts", lambda: kernels.matmul_experts(x, weights, places[0])),
        ("matmul_segments", lambda: kernels.matmul_segments(x, weights, places[:, 0])),
        ("prefix_sums", lambda: kernels.prefix_sums(x[0])),
        ("array_sum", lambda: kernels.array_sum(x)),
        ("array_maximum", lambda: kernels.array_maximum(x)),
        ("route", lambda: kernels.route(x, 1)),
        ("dispatch", lambda: kernels.dispatch(x, places, 2)),
        ("combine", lambda: kernels.combine(x, places, x[:, :1])),
    ]
    for name, call in calls:
        with pytest.raises(UsageError, match=f"{name} has no gradient: call it under `torch.no_grad\\(\\)`"):
            call()
    with torch.no_grad():
        assert kernels.array_sum(x) == 6
