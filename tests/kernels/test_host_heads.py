"""Host functions for heads and caches on arrays of NumPy, against the references; gradients, against torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, assert_close, normal, slopes

import tileverify
from tileverify import kernels
from tileverify.kernels.references import elements
from tileverify.kernels.references import layers as references
from tileverify.system.errors import UsageError

BATCH, LENGTH, Q_HEADS, K_HEADS, HALF, PLACES = 2, 3, 9, 2, 4, 7
WIDTH, TOKENS = 2 * HALF, BATCH * LENGTH
COS, SIN = (table.astype(np.float32) for table in references.tables(PLACES, HALF))
STARTS = np.array([4, 0], np.int32)
TYPES = pytest.mark.parametrize("dtype", [np.float32, BFLOAT16], ids=["f32", "bf16"])
NORMED = pytest.mark.parametrize("normed", [False, True], ids=["plain", "normed"])


def heads(*tokens: int, dtype: DTypeLike = np.float32) -> tuple[Array, Array, Array]:
    """Queries, keys and values side by side, as one product makes them."""
    packed = normal(*tokens, Q_HEADS + 2 * K_HEADS, WIDTH, dtype=dtype)
    q, k, v = np.split(packed, [Q_HEADS, Q_HEADS + K_HEADS], axis=-2)
    return q, k, v


def flat(x: Array) -> Array:
    """The same as (token, head, number)."""
    return x.reshape(-1, *x.shape[-2:])


def caches(dtype: DTypeLike = np.float32) -> tuple[Array, Array]:
    shape = (BATCH, K_HEADS, PLACES, WIDTH)
    return normal(*shape, dtype=dtype, seed=3), normal(*shape, dtype=dtype, seed=4)


def compare(found: tuple[Array, ...], expected: tuple[Array, ...]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other.reshape(one.shape))


@TYPES
def test_rope(dtype: DTypeLike) -> None:
    q, k, _ = heads(BATCH, LENGTH, dtype=dtype)
    positions = np.array([[6, 0, 3], [3, 1, 5]], np.int32)
    found = kernels.rope(q, k, COS, SIN, positions)
    assert found[0].dtype == dtype
    compare(found, references.rope(flat(q), flat(k), COS, SIN, positions.ravel()))


def test_rope_in_place() -> None:
    packed = normal(TOKENS, Q_HEADS + K_HEADS, WIDTH)
    x, kept = np.split(packed, [Q_HEADS], axis=1)
    positions, others = np.arange(TOKENS, dtype=np.int32), kept.copy()
    expected = references.turned(x, COS, SIN, positions)
    kernels.rope_in_place(x, COS, SIN, positions)
    assert_close(x, expected)
    assert np.array_equal(kept, others)


def test_rope_from() -> None:
    q, k, _ = heads(BATCH, LENGTH)
    start = np.array([4], np.int32)
    compare(kernels.rope_from(q, k, COS, SIN, start), references.rope_from(flat(q), flat(k), COS, SIN, start, BATCH))


def test_rope_has_a_gradient() -> None:
    torch = pytest.importorskip("torch")
    q, k, _ = heads(LENGTH)
    places, douts = np.array([5, 0, 2], np.int32), (normal(*q.shape, seed=1), normal(*k.shape, seed=2))
    given = [torch.from_numpy(each.copy()).requires_grad_() for each in (q, k)]
    found = kernels.rope(*given, *map(torch.from_numpy, (COS, SIN, places)))
    torch.autograd.backward(found, tuple(map(torch.from_numpy, douts)))
    for x, dout, tensor in zip((q, k), douts, given, strict=True):
        assert_close(tensor.grad.numpy(), slopes(lambda x: references.turned(x, COS, SIN, places), x, dout))


def test_rope_where_one_result_is_not_used() -> None:
    torch = pytest.importorskip("torch")
    q, k, _ = (torch.from_numpy(each.copy()).requires_grad_() for each in heads(LENGTH))
    kernels.rope(q, k, *map(torch.from_numpy, (COS, SIN, np.zeros(LENGTH, np.int32))))[0].sum().backward()
    assert not k.grad.any()
    assert q.grad.all()


def test_qk_norm() -> None:
    q, k, _ = heads(BATCH, LENGTH)
    weights = normal(WIDTH, seed=1), normal(WIDTH, seed=2)
    compare(kernels.qk_norm(q, k, *weights), elements.qk_norm(flat(q), flat(k), *weights, 1e-6))


@pytest.mark.parametrize("start", [0, 4, np.array([3], np.int32)], ids=["first", "last", "from an array"])
def test_cache_update(start: Any) -> None:
    _, k, v = heads(BATCH, LENGTH)
    found = caches()
    kernels.cache_update(k, v, *found, start)
    compare(found, references.cache_update(flat(k), flat(v), *caches(), int(np.ravel(start)[0])))


@TYPES
@NORMED
def test_prefill(normed: bool, dtype: DTypeLike) -> None:
    arrays, found = heads(BATCH, LENGTH, dtype=dtype), caches(dtype)
    q, k, v = map(flat, arrays)
    weights = (normal(WIDTH, dtype=dtype, seed=1), normal(WIDTH, dtype=dtype, seed=2))
    if normed:
        out = kernels.prefill_normed_heads(*arrays, *weights, COS, SIN, STARTS, *found, eps=1e-5)
        expected = references.prefill_normed_heads(q, k, v, *weights, COS, SIN, STARTS, *caches(dtype), 1e-5)
    else:
        out = kernels.prefill_heads(*arrays, COS, SIN, STARTS, *found)
        expected = references.prefill_heads(q, k, v, COS, SIN, STARTS, *caches(dtype))
    compare((out, *found), expected)


@NORMED
def test_decode(normed: bool) -> None:
    """Also where the tables have more rows than the cache has positions."""
    arrays, found = heads(BATCH), caches()
    weights = (normal(WIDTH, seed=1), normal(WIDTH, seed=2))
    longer = (np.concatenate([COS, COS]), np.concatenate([SIN, SIN]))
    if normed:
        out = kernels.decode_normed_heads(*arrays, *weights, *longer, STARTS, *found)
        expected = references.decode_normed_heads(*arrays, *weights, COS, SIN, STARTS, *caches(), 1e-6)
    else:
        out = kernels.decode_heads(*arrays, *longer, STARTS, *found)
        expected = references.decode_heads(*arrays, COS, SIN, STARTS, *caches())
    compare((out, *found), expected)


def test_no_tokens() -> None:
    q, k, v = heads(BATCH, 0)
    found = caches()
    assert kernels.rope(q, k, COS, SIN, np.zeros((BATCH, 0), np.int32))[0].shape == q.shape
    assert kernels.rope_from(q, k, COS, SIN, np.zeros(1, np.int32))[1].shape == k.shape
    assert kernels.qk_norm(q, k, COS[0].repeat(2), COS[0].repeat(2))[0].shape == q.shape
    assert kernels.prefill_heads(q, k, v, COS, SIN, STARTS, *found).shape == q.shape
    kernels.cache_update(k, v, *found, PLACES)
    kernels.rope_in_place(q[0], COS, SIN, np.zeros(0, np.int32))
    compare(found, caches())


# ------------------------------------------------------------------------------------------------- refused
def test_positions_are_looked_at() -> None:
    q, k, v = heads(BATCH, LENGTH)
    keys, values = caches()
    for calls in (
        lambda: kernels.rope(q, k, COS, SIN, np.full((BATCH, LENGTH), PLACES, np.int32)),
        lambda: kernels.rope_from(q, k, COS, SIN, np.array([PLACES - LENGTH + 1], np.int32)),
        lambda: kernels.cache_update(k, v, keys, values, np.array([-1], np.int32)),
        lambda: kernels.prefill_heads(q, k, v, COS, SIN, STARTS + 1, keys, values),
    ):
        with pytest.raises(tileverify.LaunchRefused, match=r"(positions|starts?)`?\[.*TV502"):
            calls()
    compare((keys, values), caches())


def test_what_does_not_fit_is_told() -> None:
    (q, k, v), (keys, values), places = heads(BATCH, LENGTH), caches(), np.zeros((BATCH, LENGTH), np.int32)
    odd = normal(BATCH, LENGTH, 1, 6)
    told: list[tuple[Any, str]] = [
        (lambda: kernels.rope(q, k[:1], COS, SIN, places), r"`k` has the shape \(1, 3, 2, 8\), and it takes"),
        (lambda: kernels.rope(q, k, COS, SIN, places[0]), "`positions` has the shape"),
        (
            lambda: kernels.rope(q, k, COS, SIN, places.astype(np.int64)),
            "`positions` has elements of i64, and it takes",
        ),
        (lambda: kernels.rope(q, k, COS[:, :2], SIN, places), "`cos` has the shape"),
        (lambda: kernels.rope(q, k, COS, SIN[1:], places), "`sin` has the shape"),
        (lambda: kernels.rope(odd, odd, COS, SIN, places), "heads of 6 numbers cannot be turned"),
        (lambda: kernels.rope_in_place(q[0, :, :, ::-1], COS, SIN, places[0]), "`x` is written where it is"),
        (lambda: kernels.rope_from(q, k, COS, SIN, places[0]), "`start` has the shape"),
        (lambda: kernels.qk_norm(q, k, COS[0], COS[0]), "`q_weight` has the shape"),
        (lambda: kernels.cache_update(k, v, keys, values, PLACES - 2), "`start` is 5, and it takes 0 to 4"),
        (lambda: kernels.cache_update(k, v[:, :2], keys, values, 0), "`v` has the shape"),
        (lambda: kernels.cache_update(k, v, keys, values[:, :, 1:], 0), "`v_cache` has the shape"),
        (lambda: kernels.cache_update(k, v, keys[:, ::-1], values, 0), "`k_cache` is written where it is"),
        (lambda: kernels.prefill_heads(q, k, v, COS[:6], SIN[:6], STARTS, keys, values), "`cos` has 6 rows"),
        (lambda: kernels.prefill_heads(q, k, v, COS, SIN, STARTS[:1], keys, values), "`starts` has the shape"),
        (lambda: kernels.decode_heads(q, k, v, COS, SIN, STARTS, keys, values), r"`q` has the shape .* \(B, H, 2"),
    ]
    for call, words in told:
        with pytest.raises(UsageError, match=words):
            call()


def test_functions_without_a_gradient_say_so() -> None:
    torch = pytest.importorskip("torch")
    x, tables = torch.ones(1, 1, WIDTH, requires_grad=True), (torch.from_numpy(COS), torch.from_numpy(SIN))
    with pytest.raises(UsageError, match=r"rope_in_place has no gradient: .* or detach `x`"):
        kernels.rope_in_place(x, *tables, torch.zeros(1, dtype=torch.int32))
    with torch.no_grad():
        kernels.rope_in_place(x, *tables, torch.zeros(1, dtype=torch.int32))
