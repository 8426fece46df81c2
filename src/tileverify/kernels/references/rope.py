"""Rotary position embedding, alone and together with head norms and writes to a cache; (token, head, number)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .kinds import Array, Floats, Integers, Reals
from .norms import qk_norm


def tables(positions: int, half: int, base: float = 10000.0) -> tuple[Floats, Floats]:
    """``cos`` and ``sin`` of ``p * base^(-i / half)`` for every position p and i < half."""
    angles = np.arange(positions)[:, None] * base ** (-np.arange(half) / half)
    return np.cos(angles), np.sin(angles)


def turned(x: ArrayLike, cos: Array, sin: Array, positions: Integers) -> Floats:
    """``(low * cos - high * sin, high * cos + low * sin)`` for the halves of every head of token t."""
    low, high = np.split(np.asarray(x, np.float64), 2, axis=-1)
    c, s = (np.asarray(table, np.float64)[positions][:, None] for table in (cos, sin))
    return np.concatenate([low * c - high * s, high * c + low * s], axis=-1)


def rope(q: ArrayLike, k: ArrayLike, cos: Array, sin: Array, positions: Integers) -> tuple[Floats, Floats]:
    """`turned` queries and keys."""
    return turned(q, cos, sin, positions), turned(k, cos, sin, positions)


rope_in_place = turned


def rope_backward(
    dq_out: ArrayLike, dk_out: ArrayLike, cos: Reals, sin: Reals, positions: Integers
) -> tuple[Floats, Floats]:
    """`rope` by the negative angle."""
    return rope(dq_out, dk_out, cos, -sin, positions)


def rope_from(
    q: ArrayLike, k: ArrayLike, cos: Array, sin: Array, start: Integers, sequences: int
) -> tuple[Floats, Floats]:
    """`rope` where each of the sequences begins at the position ``start[0]``."""
    return rope(q, k, cos, sin, _consecutive(np.repeat(start, sequences), len(np.asarray(q)) // sequences))


def cache_update(k: Array, v: Array, k_cache: Array, v_cache: Array, start: int) -> tuple[Floats, Floats]:
    """The caches with ``cache[b, h, start + s] = new[b * S + s, h]``."""
    return _kept(k, k_cache, np.full(len(k_cache), start)), _kept(v, v_cache, np.full(len(v_cache), start))


def cache_update_from(k: Array, v: Array, start: Integers, k_cache: Array, v_cache: Array) -> tuple[Floats, Floats]:
    """`cache_update` from ``start[0]`` on."""
    return cache_update(k, v, k_cache, v_cache, int(start[0]))


def prefill_heads(
    q: Array, k: Array, v: Array, cos: Array, sin: Array, starts: Integers, k_cache: Array, v_cache: Array
) -> tuple[Floats, Floats, Floats]:
    """Queries, turned, and the caches with keys, turned, and values, from ``starts[b]`` on."""
    q_out, keys = rope(q, k, cos, sin, _consecutive(starts, len(q) // len(starts)))
    return q_out, _kept(keys, k_cache, starts), _kept(v, v_cache, starts)


decode_heads = prefill_heads


def prefill_normed_heads(
    q: Array, k: Array, v: Array, q_weight: Array, k_weight: Array, cos: Array, sin: Array, starts: Integers,
    k_cache: Array, v_cache: Array, eps: float,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """`prefill_heads` after `qk_norm`."""
    q, k = qk_norm(q, k, q_weight, k_weight, eps)
    return prefill_heads(q, k, v, cos, sin, starts, k_cache, v_cache)


decode_normed_heads = prefill_normed_heads


def _consecutive(starts: Integers, length: int) -> Integers:
    """For each start, that many positions from there on."""
    return (starts[:, None] + np.arange(length)).ravel()


def _kept(new: Array, cache: Array, starts: Integers) -> Floats:
    found = np.array(cache, np.float64)
    length = len(new) // len(starts)
    for b, start in enumerate(starts):
        found[b, :, start : start + length] = np.swapaxes(new[b * length : (b + 1) * length], 0, 1)
    return found
