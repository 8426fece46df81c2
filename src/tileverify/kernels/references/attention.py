"""Attention, without tiles: see `tileverify.kernels.device.attention`."""

from __future__ import annotations

import numpy as np

from .kinds import Array, Floats


def attention(q: Array, k: Array, v: Array, scale: float, causal: bool) -> Floats:
    """``softmax(scale * q kᵀ) v``; query heads in a row share a head of k and v."""
    return attention_cached(q, k, v, np.array([k.shape[2]]), scale, causal)


def attention_cached(q: Array, k: Array, v: Array, used: Array, scale: float, causal: bool) -> Floats:
    """The same over the first ``used[0]`` keys, the last of which stands at the last query."""
    keys, queries = min(max(int(used[0]), q.shape[2]), k.shape[2]), q.shape[2]
    seen = np.arange(keys)[None, :] <= np.arange(queries)[:, None] + keys - queries if causal else np.True_
    group = q.shape[1] // k.shape[1]
    wide_k, wide_v = (np.repeat(x[:, :, :keys].astype(np.float64), group, axis=1) for x in (k, v))
    scores = np.where(seen, scale * q.astype(np.float64) @ np.swapaxes(wide_k, 2, 3), -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Floats = powers @ wide_v / powers.sum(axis=-1, keepdims=True)
    return result


def decode_splits(
    q: Array, k: Array, v: Array, lengths: Array, scale: float, splits: int, tile: int
) -> tuple[Floats, Floats, Floats]:
    """``Σ p v``, ``max s`` and ``Σ p`` of each split, ``s = scale * log2(e) * q kᵀ`` and ``p = 2 ** (s - max s)``."""
    batch, heads, group, depth = q.shape
    parts = np.zeros((batch, heads, splits, group, depth))
    maxima, sums = np.full((batch, heads, splits, group), -np.inf), np.zeros((batch, heads, splits, group))
    for b, length in enumerate(np.clip(lengths, 0, k.shape[2])):
        tiles = -(-int(length) // tile)
        each = -(-tiles // splits)
        for split in range(splits):
            own = slice(split * each * tile, min((split + 1) * each * tile, int(length)))
            if own.start < own.stop:
                keys, values = k[b, :, own].astype(np.float64), v[b, :, own].astype(np.float64)
                scores = scale * np.log2(np.e) * q[b].astype(np.float64) @ np.swapaxes(keys, 1, 2)
                maxima[b, :, split] = scores.max(axis=-1)
                powers = np.exp2(scores - maxima[b, :, split, :, None])
                parts[b, :, split], sums[b, :, split] = powers @ values, powers.sum(axis=-1)
    return parts, maxima, sums


def decode_merge(parts: Array, maxima: Array, sums: Array) -> Floats:
    """``Σ 2 ** (max - max of all) parts / Σ 2 ** (max - max of all) sums`` over the splits."""
    shares = np.exp2(maxima - np.maximum(maxima.max(axis=2, keepdims=True), -1e30))
    whole = (sums * shares).sum(axis=2)[..., None]
    weighted = (parts * shares[..., None]).sum(axis=2)
    result: Floats = np.divide(weighted, whole, out=np.zeros_like(weighted), where=whole > 0)
    return result
