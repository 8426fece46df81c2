"""Host functions of models that run, on arrays of JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.kernels.closeness import assert_close, normal

from tileverify import kernels
from tileverify.kernels.references import layers
from tileverify.system.errors import UsageError

jax: Any = pytest.importorskip("jax")

COS, SIN = (table.astype(np.float32) for table in layers.tables(5, 4))
PLACES = np.array([4, 0, 2], np.int32)


def test_results_are_of_jax() -> None:
    table, ids = normal(5, 7), np.array([4, 0], np.int32)
    found = kernels.embedding(jax.numpy.asarray(table), jax.numpy.asarray(ids))
    assert isinstance(found, jax.Array)
    assert np.array_equal(found, table[ids])
    q, k, v = (normal(1, 2, 5, 8, seed=seed) for seed in range(3))
    seen = kernels.attention(*map(jax.numpy.asarray, (q, k, v)))
    assert_close(np.asarray(seen), layers.attention(q, k, v, 8**-0.5, True))
    tops, places = kernels.top_k(jax.numpy.asarray(table), 2)
    assert isinstance(places, jax.Array)
    assert np.array_equal(tops, -np.sort(-table, axis=1)[:, :2])


def test_rope_has_a_gradient() -> None:
    q, k, dq, dk = (normal(3, heads, 8, seed=seed) for seed, heads in enumerate((3, 1, 3, 1)))
    tables = tuple(map(jax.numpy.asarray, (COS, SIN, PLACES)))
    found, back = jax.vjp(lambda q, k: kernels.rope(q, k, *tables), *map(jax.numpy.asarray, (q, k)))
    for one, other in zip(found, layers.rope(q, k, COS, SIN, PLACES), strict=True):
        assert_close(np.asarray(one), other)
    gradients = back(tuple(map(jax.numpy.asarray, (dq, dk))))
    for one, other in zip(gradients, layers.rope_backward(dq, dk, COS, SIN, PLACES), strict=True):
        assert_close(np.asarray(one), other)


def test_cast_has_a_gradient() -> None:
    x = jax.numpy.asarray(normal(3, 4))
    found, back = jax.vjp(lambda x: kernels.cast(x, "f16"), x)
    assert found.dtype == np.float16
    (gradient,) = back(found)
    assert gradient.dtype == np.float32
    assert np.array_equal(gradient, found.astype(np.float32))


def test_arrays_of_jax_are_not_written() -> None:
    x, cache = jax.numpy.ones((3, 1, 8)), jax.numpy.ones((1, 1, 5, 8))
    new = jax.numpy.ones((1, 1, 1, 8))
    writing: list[tuple[str, Any]] = [
        ("x", lambda: kernels.rope_in_place(x, COS, SIN, PLACES)),
        ("k_cache", lambda: kernels.cache_update(new, new, cache, cache, 0)),
        ("stack", lambda: kernels.to_stack(x[0], x, 0)),
        ("out", lambda: kernels.fill(x, 0.0)),
    ]
    for name, call in writing:
        with pytest.raises(UsageError, match=f"`{name}` is written where it is, and nobody may write arrays of JAX"):
            call()
