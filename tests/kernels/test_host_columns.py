"""Host functions for scans, sorting, routing and joins on arrays of NumPy, against the references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal

import tileverify
from tileverify import kernels
from tileverify.kernels import prepared, sorting
from tileverify.kernels.references import elements as join_reference
from tileverify.kernels.references import elements as scans_reference
from tileverify.kernels.references import layers as routing_reference
from tileverify.system.errors import UsageError


def table(rows: int, columns: int) -> Array:
    return integers(rows * columns).reshape(rows, columns)


def integers(count: int, low: int = -9, high: int = 9, seed: int = 0) -> Array:
    return np.random.default_rng([seed, count]).integers(low, high, count).astype(np.int32)


NONE = np.empty(0, np.int32)


# --------------------------------------------------------------------------------------------------- scans
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("count", [0, 1, 1024, 2500])
def test_prefix_sums(count: int, exclusive: bool) -> None:
    x = integers(count)
    expected = scans_reference.scan_blocks(x, exclusive)
    found = kernels.prefix_sums(x, exclusive=exclusive)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])
def test_floats_are_added_up_in_float32(dtype: DTypeLike) -> None:
    x = integers(1100).astype(dtype)
    found = kernels.prefix_sums(x)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, scans_reference.scan_blocks(x.astype(np.float64), False))
    assert kernels.array_sum(x) == x.astype(np.float64).sum()
    assert kernels.array_maximum(x) == x.astype(np.float64).max()


def test_reductions() -> None:
    x = integers(9000).astype(np.float32).reshape(3, 3000)
    for found, expected in ((kernels.array_sum(x), x.sum()), (kernels.array_maximum(x - 20), x.max() - 20)):
        assert found.shape == ()
        assert found.dtype == np.float32
        assert found == expected
    assert kernels.array_sum(x[:0]) == 0
    assert kernels.array_maximum(x[:0]) == -np.inf


def test_histogram() -> None:
    values = integers(2100, -2, 9)
    expected = scans_reference.histogram(values, np.zeros(7, np.int32))
    np.testing.assert_array_equal(kernels.histogram(values.reshape(3, 700), 7), expected)
    assert kernels.histogram(values, 0).shape == (0,)
    np.testing.assert_array_equal(kernels.histogram(NONE, 3), [0, 0, 0])


# ------------------------------------------------------------------------------------------------- sorting
@pytest.mark.parametrize("count", [0, 1, 700])
def test_sort_is_stable(count: int) -> None:
    keys = integers(count)
    keys[: count // 2] = integers(count // 2, -(2**31), 2**31)
    found, places = kernels.sort(keys)
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(found, keys[order])
    np.testing.assert_array_equal(places, order)
    values = integers(count, seed=1)
    np.testing.assert_array_equal(kernels.sort(keys, values)[1], values[order])


def test_pass_of_a_radix_sort() -> None:
    keys, values = integers(600, -(2**31), 2**31), integers(600, seed=1)
    for shift, digit in ((8, (keys >> 8) & 15), (28, keys >> 28)):
        order = np.argsort(digit, kind="stable")
        found = kernels.radix_pass(keys, values, shift)
        np.testing.assert_array_equal(found, (keys[order], values[order]))


def test_places_that_meet_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel that moves keys needs is checked, not believed."""
    real = prepared.launch

    def with_one_place_twice(kernel: str, grid: Any, *arguments: Any, **options: Any) -> None:
        if kernel == "sorting.move":
            arguments[1][:2] = 0
        real(kernel, grid, *arguments, **options)

    monkeypatch.setattr(sorting, "launch", with_one_place_twice)
    with pytest.raises(tileverify.LaunchRefused, match=r"injective\(places\)"):
        kernels.sort(integers(20))


# ------------------------------------------------------------------------------------------------- routing
@pytest.mark.parametrize("renormalize", [True, False])
def test_route(renormalize: bool) -> None:
    logits = np.round(2 * normal(21, 6))
    experts, shares = kernels.route(logits, 3, renormalize=renormalize)
    expected = routing_reference.route(logits, 3, renormalize)
    np.testing.assert_array_equal(experts, expected[0])
    assert_close(shares, expected[1])
    assert kernels.route(logits[:0], 3)[0].shape == (0, 3)


@pytest.mark.parametrize("chosen", [1, 2])
def test_a_layer_of_experts(chosen: int) -> None:
    """Each token's experts, weighted, as if each had been multiplied alone."""
    x, weights, logits = normal(90, 20), normal(5, 18, 20, seed=1), normal(90, 5, seed=2)
    logits[:, 3] = -9  # an expert without tokens
    experts, shares = kernels.route(logits, chosen)
    placed = kernels.place_tokens(experts, 5)
    assert placed.rows == 64 * placed.experts.shape[0] >= placed.places.max()
    assert set(placed.experts) == {0, 1, 2, 4, -1}
    rows = kernels.dispatch(x, placed.places, placed.rows)
    assert not rows[np.setdiff1d(np.arange(placed.rows), placed.places)].any()
    out = kernels.combine(kernels.matmul_experts(rows, weights, placed.experts), placed.places, shares)
    expected = routing_reference.route(logits, chosen, True)
    alone = np.einsum("tk,tknd,td->tn", expected[1], weights.astype(np.float64)[expected[0]], x.astype(np.float64))
    assert_close(out, alone)


def test_tokens_without_an_expert_have_no_row() -> None:
    placed = kernels.place_tokens(np.array([[0, 7], [-1, 0]], np.int32), 2)
    np.testing.assert_array_equal(placed.places, [[0, -1], [-1, 1]])
    x = normal(2, 5)
    np.testing.assert_array_equal(kernels.dispatch(x, placed.places, placed.rows)[:3], [x[0], x[1], 0 * x[0]])
    weights = np.full((2, 2), 2, np.float32)
    np.testing.assert_array_equal(kernels.combine(x, placed.places, weights), 2 * x)


def test_routing_without_tokens() -> None:
    placed = kernels.place_tokens(np.empty((0, 2), np.int32), 3)
    assert placed.places.shape == (0, 2)
    rows = kernels.dispatch(normal(0, 5), placed.places, placed.rows)
    assert not rows.any()
    assert kernels.combine(rows, placed.places, normal(0, 2)).shape == (0, 5)
    np.testing.assert_array_equal(kernels.dispatch(normal(2, 5), np.empty((2, 0), np.int32), 3), np.zeros((3, 5)))


def test_two_tokens_in_one_row_are_refused() -> None:
    with pytest.raises(tileverify.LaunchRefused, match="injective"):
        kernels.dispatch(normal(2, 5), np.array([[3, 1], [2, 3]], np.int32), 4)


# ---------------------------------------------------------------------------------------------------- join
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("left", "right"), [(300, 290), (1, 40)])
def test_join(left: int, right: int, ordered: bool) -> None:
    one, other = integers(left, -99, 99), integers(right, -99, 99, seed=1)
    one[0] = other[-1]
    found = kernels.join(one, other, ordered=ordered)
    pairs = list(zip(*(column.tolist() for column in found), strict=True))
    assert [i for i, _ in pairs] == sorted(i for i, _ in pairs)
    assert (pairs if ordered else sorted(pairs)) == join_reference.pairs(one, other)


@pytest.mark.parametrize("ordered", [False, True])
def test_joins_without_pairs(ordered: bool) -> None:
    some = integers(5)
    for left, right in ((NONE, some), (some, NONE), (NONE, NONE), (some, some + 100)):
        found = kernels.join(left, right, ordered=ordered)
        assert [(column.shape, column.dtype) for column in found] == [((0,), np.dtype(np.int32))] * 2


def test_more_pairs_than_can_be_numbered_are_told() -> None:
    """Sums in 32 bits would have come round to a small number."""
    with pytest.raises(UsageError, match="there are 4294967300 pairs, and a join takes 2147483647 at most"):
        sorting._offsets(np.array([2**31 - 1, 2**31 - 1, 6], np.int32))


# -------------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: kernels.prefix_sums(normal(2, 3)), r"`x` has the shape \(2, 3\), and it takes \(N\)"),
        (lambda: kernels.prefix_sums(normal(3, dtype=np.float64)), "`x` has elements of f64, and it takes i32 or bf16"),
        (lambda: kernels.array_sum(integers(3)), "`x` has elements of i32, and it takes bf16 or f16 or f32"),
        (lambda: kernels.histogram(normal(3), 4), "`values` has elements of f32, and it takes i32"),
        (lambda: kernels.histogram(integers(3), -1), "`bins` is -1, and it takes 0 and up"),
        (lambda: kernels.sort(table(1, 3)), r"`keys` has the shape \(1, 3\), and it takes \(N\)"),
        (lambda: kernels.sort(integers(3), integers(4)), r"`values` has the shape \(4,\), and it takes \(3,\)"),
        (lambda: kernels.sort(normal(3)), "`keys` has elements of f32, and it takes i32"),
        (lambda: kernels.radix_pass(integers(3), integers(3), 29), "`shift` is 29, and it takes 0 to 28"),
        (lambda: kernels.route(normal(3, 129), 2), "`logits` has 129 experts for each token, and it takes 128 at most"),
        (lambda: kernels.route(normal(3, 4), 5), "`count` is 5, and it takes 1 to 4"),
        (lambda: kernels.route(normal(3, 20), 9), "`count` is 9, and it takes 1 to 8"),
        (lambda: kernels.route(normal(3), 1), r"`logits` has the shape \(3,\), and it takes \(T, E\)"),
        (lambda: kernels.place_tokens(integers(4), 2), r"`experts` has the shape \(4,\), and it takes \(T, K\)"),
        (lambda: kernels.place_tokens(table(2, 2), 0), "`count` is 0, and it takes 1 and up"),
        (lambda: kernels.dispatch(normal(2, 5), table(3, 2), 9), r"`places` has the shape \(3, 2\), and it takes"),
        (lambda: kernels.combine(normal(2, 5), table(2, 2), normal(2, 3)), r"`weights` has the shape \(2, 3\), and"),
        (lambda: kernels.join(integers(3), normal(3)), "`right` has elements of f32, and it takes i32"),
        (lambda: kernels.join(table(2, 2), integers(3)), r"`left` has the shape \(2, 2\), and it takes \(M\)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(call: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        call()
