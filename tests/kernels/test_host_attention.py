"""Host functions of attention on arrays of NumPy, against the references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from tests.kernels.closeness import BFLOAT16, Array, normal

from tileverify import kernels
from tileverify.kernels import attending
from tileverify.kernels.references import layers as references
from tileverify.system.errors import UsageError

CLOSE = {np.dtype(np.float32): 2e-5, np.dtype(np.float16): 4e-3, BFLOAT16: 3e-2}


def arrays(
    heads: tuple[int, int], lengths: tuple[int, int], width: int, dtype: DTypeLike
) -> tuple[Array, Array, Array]:
    q = normal(2, heads[0], lengths[0], width, dtype=dtype)
    k, v = (normal(2, heads[1], lengths[1], width, dtype=dtype, seed=seed) for seed in (1, 2))
    return q, k, v


def close(found: Array, expected: Array) -> None:
    np.testing.assert_allclose(found.astype(np.float64), expected, atol=CLOSE[found.dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16], ids=["f32", "f16", "bf16"])
@pytest.mark.parametrize(
    ("causal", "heads", "lengths", "width"),
    [(True, (6, 2), (37, 37), 16), (False, (2, 2), (5, 39), 72)],
    ids=["causal, grouped", "all keys"],
)
def test_attention(causal: bool, heads: Any, lengths: Any, width: int, dtype: DTypeLike) -> None:
    q, k, v = arrays(heads, lengths, width, dtype)
    found = kernels.attention(q, k, v, causal=causal)
    assert found.dtype == dtype
    close(found, references.attention(q, k, v, width**-0.5, causal))
    other = kernels.attention(q.transpose(0, 1, 3, 2).copy().transpose(0, 1, 3, 2), k, v, causal=causal, scale=0.5)
    close(other, references.attention(q, k, v, 0.5, causal))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("used", [3, 20, 45, 99])
def test_attention_over_a_cache(used: int, causal: bool) -> None:
    """Also of numbers that cannot be: fewer keys than queries, more than the cache has."""
    q, k, v = arrays((4, 2), (7, 45), 8, np.float32)
    keys = np.array([used], np.int32)
    close(kernels.attention(q, k, v, causal, used=keys), references.attention_cached(q, k, v, keys, 8**-0.5, causal))


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=["f32", "f16"])
@pytest.mark.parametrize("group", [3, 17])
def test_decode_attention(group: int, dtype: DTypeLike) -> None:
    q, (k, v) = normal(3, 2 * group, 16, dtype=dtype), (normal(3, 2, 300, 16, dtype=dtype, seed=s) for s in (1, 2))
    lengths = np.array([0, 41, 1000], np.int32)
    for splits in (None, 1, 3, 64):
        found = kernels.decode_attention(q, k, v, lengths, splits=splits)
        assert not found[0].any()
        for b, length in ((1, 41), (2, 300)):
            alone = q[b : b + 1, :, None], k[b : b + 1, :, :length], v[b : b + 1, :, :length]
            close(found[b], references.attention(*alone, 0.25, False)[0, :, 0])


def test_splits_keep_the_device_busy() -> None:
    """Two blocks for each multiprocessor, but none without a tile of keys."""
    assert attending._splits(shared=8, tiles=100, multiprocessors=132) == 33
    assert attending._splits(shared=8, tiles=5, multiprocessors=132) == 5
    assert attending._splits(shared=1, tiles=1000, multiprocessors=132) == attending.MOST_SPLITS
    assert attending._splits(shared=1000, tiles=100, multiprocessors=132) == 1
    assert attending._splits(shared=8, tiles=0, multiprocessors=132) == 1


def test_empty_arrays() -> None:
    q, k, v = arrays((4, 2), (0, 0), 8, np.float32)
    assert kernels.attention(q, k, v).shape == q.shape
    q, k, v = arrays((4, 2), (3, 0), 8, np.float32)
    assert not kernels.attention(q, k, v, causal=False).any()
    assert not kernels.decode_attention(q[:, :, 0], k, v, np.ones(2, np.int32)).any()
    q, k, v = arrays((4, 2), (3, 3), 0, np.float32)
    assert kernels.attention(q, k, v).shape == q.shape
    assert kernels.decode_attention(q[:, :, 0], k, v, np.ones(2, np.int32)).shape == (2, 4, 0)


def test_what_does_not_fit_is_told() -> None:
    q, k, v = arrays((4, 2), (5, 5), 8, np.float32)
    one, lengths, wide = q[:, :, 0], np.ones(2, np.int32), arrays((1, 1), (2, 2), 136, np.float32)
    many = normal(2, 130, 8)
    told: list[tuple[Any, str]] = [
        (lambda: kernels.attention(q, k[:, :, :4], v[:, :, :4]), "`k` has 4 keys for 5 queries: .* needs `used`"),
        (lambda: kernels.attention(q, k, v[:, :, :4]), "`v` has the shape"),
        (lambda: kernels.attention(q[:, :3], k, v), "`q` has 3 heads, no multiple of the 2 of `k`"),
        (lambda: kernels.attention(q, k[:, :0], v[:, :0]), "`q` has 4 heads, no multiple of the 0 of `k`"),
        (lambda: kernels.attention(q, k.astype(np.float16), v), "`k` has elements of f16, and it takes f32"),
        (lambda: kernels.attention(q.astype(np.float64), k, v), "`q` has elements of f64"),
        (lambda: kernels.attention(*wide), "`q` has heads of 136 numbers, and it takes up to 128"),
        (lambda: kernels.attention(one, k, v), r"`q` has the shape .* \(B, H, T, D\)"),
        (lambda: kernels.attention(q, k, v, used=lengths), "`used` has the shape"),
        (
            lambda: kernels.attention(q, k[:, :, :4], v[:, :, :4], used=lengths[:1]),
            "`q` has 5 queries, and the cache 4",
        ),
        (lambda: kernels.decode_attention(q, k, v, lengths), r"`q` has the shape .* \(B, H, D\)"),
        (lambda: kernels.decode_attention(one, k, v, lengths[:1]), "`lengths` has the shape"),
        (lambda: kernels.decode_attention(one, k, v, lengths.astype(np.int64)), "`lengths` has elements of i64"),
        (lambda: kernels.decode_attention(one, k, v, lengths, splits=65), "`splits` is 65, and it takes 1 to 64"),
        (lambda: kernels.decode_attention(many, k, v, lengths), "65 query heads share a head of keys"),
    ]
    for call, words in told:
        with pytest.raises(UsageError, match=words):
            call()


def test_attention_has_no_gradient() -> None:
    torch = pytest.importorskip("torch")
    q, k, v = (torch.from_numpy(each) for each in arrays((2, 2), (3, 3), 8, np.float32))
    with pytest.raises(UsageError, match=r"attention has no gradient: .* or detach `v`"):
        kernels.attention(q, k, v.requires_grad_())
    with torch.no_grad():
        assert kernels.attention(q, k, v).shape == q.shape
