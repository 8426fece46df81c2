"""One step of a decoder: see `decoding` in `tileverify.kernels.device`, and the modules beside it."""

from __future__ import annotations

import numpy as np

from .kinds import Array, Floats, Integers
from .products import matmul
from .rope import turned
from .vectors import normed, silu


def rows_normed(x: Array, scales: Array, eps: float) -> Floats:
    """`normed` of each row."""
    return np.stack([normed(row, scales, eps) for row in x])


def step_normed(x: Array, scales: Array, weights: Array, eps: float) -> Floats:
    """``normed weightsᵀ``"""
    return matmul(rows_normed(x, scales, eps), weights.T)


def step_normed_gated(x: Array, scales: Array, gates: Array, weights: Array, eps: float) -> Floats:
    """``silu(normed gatesᵀ) * (normed weightsᵀ)``"""
    return silu(step_normed(x, scales, gates, eps)) * step_normed(x, scales, weights, eps)


def step_add(x: Array, weights: Array, residual: Array) -> Floats:
    """``x weightsᵀ + residual``"""
    return matmul(x, weights.T) + residual.astype(np.float64)


def head_normed(x: Array, weight: Array, eps: float) -> Floats:
    """`normed` along the last axis."""
    wide = x.astype(np.float64)
    result: Floats = wide / np.sqrt(np.mean(wide * wide, axis=-1, keepdims=True) + eps) * weight.astype(np.float64)
    return result


def step_attention(
    q: Array, k: Array, v: Array, q_weight: Array, k_weight: Array, cos: Array, sin: Array, positions: Integers,
    k_cache: Array, v_cache: Array, eps: float, scale: float,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Attention [B, HK, G, D] over all keys, as `step_merge` leaves it, and the caches with what is new."""
    keys, values = np.array(k_cache, np.float64), np.array(v_cache, np.float64)
    heads, group, width = q.shape[1:]
    out = np.zeros(q.shape)
    for b, position in enumerate(np.clip(positions, 0, k_cache.shape[2] - 1)):
        place = np.minimum(np.full(heads * group, position), len(cos) - 1)
        queries = head_normed(q[b], q_weight, eps).reshape(1, heads * group, width)
        queries = turned(queries, cos, sin, place[:1]).reshape(heads, group, width)
        keys[b, :, position] = turned(head_normed(k[b, :, 0], k_weight, eps)[None], cos, sin, place[:1])[0]
        values[b, :, position] = v[b, :, 0]
        scores = scale * queries @ np.swapaxes(keys[b, :, : position + 1], 1, 2)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out[b] = powers / powers.sum(axis=-1, keepdims=True) @ values[b, :, : position + 1]
    return out, keys, values


def prompt_heads(
    q: Array, k: Array, v: Array, q_weight: Array, k_weight: Array, cos: Array, sin: Array, start: int,
    k_cache: Array, v_cache: Array, eps: float,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Queries by head, [HQ, T, D], and the caches with the keys and values of T tokens from ``start`` on."""
    places = np.arange(start, start + len(q))
    keys, values = np.array(k_cache, np.float64), np.array(v_cache, np.float64)
    keys[:, places] = np.swapaxes(turned(head_normed(k, k_weight, eps), cos, sin, places), 0, 1)
    values[:, places] = np.swapaxes(v, 0, 1)
    return np.swapaxes(turned(head_normed(q, q_weight, eps), cos, sin, places), 0, 1), keys, values
