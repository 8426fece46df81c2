"""What kernels of a decoder compute, in NumPy and float64: products, rotary embedding, attention, routing, the head."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .elements import Array, Floats, Integers, Reals, qk_norm


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


# ------------------------------------------------------------------------------------------------------------- decoding
# One step of a decoder: see `decoding` in `tileverify.kernels.device`, and the modules beside it.


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


# ----------------------------------------------------------------------------------------------------------------- head
# Largest elements and sampling: see `tileverify.kernels.device.head`.


def head_argmax(x: Array, weights: Array, tile: int) -> tuple[Floats, Integers]:
    """`argmax_blocks` of ``x weightsᵀ``"""
    return argmax_blocks(matmul(x, weights.T), tile)


def argmax_blocks(logits: Array, tile: int) -> tuple[Floats, Integers]:
    """Maximum of each tile of a row, and the first place where it is."""
    starts = range(0, logits.shape[1], tile)
    blocks = [logits[:, start : start + tile].astype(np.float64) for start in starts]
    places = [start + block.argmax(axis=1) for start, block in zip(starts, blocks, strict=True)]
    return np.stack([block.max(axis=1) for block in blocks], axis=1), np.stack(places, axis=1)


def argmax_merge(maxima: Array, places: Integers) -> Integers:
    """``places[argmax(maxima)]`` of each row"""
    return np.take_along_axis(places, maxima.argmax(axis=1)[:, None], axis=1)[:, 0]


def top_k_blocks(values: Array, count: int, tile: int) -> tuple[Floats, Integers]:
    """`top_k_merge` of a row that is where it is"""
    return top_k_merge(values, np.broadcast_to(np.arange(values.shape[1]), values.shape), count, tile)


def top_k_merge(values: Array, value_places: Integers, count: int, tile: int) -> tuple[Floats, Integers]:
    """The ``count`` largest of each tile of a row in falling order and their places; minus infinity at -1 for none."""
    blocks = -(-values.shape[1] // tile)
    tops = np.full((values.shape[0], blocks, count), -np.inf)
    places = np.full(tops.shape, -1)
    for block in range(blocks):
        own = values[:, block * tile : (block + 1) * tile].astype(np.float64)
        order = np.argsort(-own, axis=1, kind="stable")[:, :count]
        tops[:, block, : order.shape[1]] = np.take_along_axis(own, order, axis=1)
        places[:, block, : order.shape[1]] = np.take_along_axis(value_places, order + block * tile, axis=1)
    return tops, places


def sample(logits: Array, uniforms: Reals, temperature: float) -> Integers:
    """The first i with ``Σ exp(logits[j] / temperature) for j <= i > uniform * Σ exp(logits / temperature)``"""
    wide = logits.astype(np.float64)
    powers = np.exp((wide - wide.max(axis=1, keepdims=True)) / temperature)
    passed = np.cumsum(powers, axis=1) > uniforms[:, None] * powers.sum(axis=1, keepdims=True)
    result: Integers = passed.argmax(axis=1)
    return result


def sample_top(values: Reals, places: Integers, uniforms: Reals, temperature: float, top_p: float) -> Integers:
    """`sample` among the first candidates that hold a share of top_p, of which the last may pass it."""
    powers = np.exp((values.astype(np.float64) - values[:, :1]) / temperature)
    before = np.cumsum(powers, axis=1) - powers
    kept = before < top_p * powers.sum(axis=1, keepdims=True)
    kept[:, 0] = True
    lane = sample(np.where(kept, values / temperature, -np.inf), uniforms, 1.0)
    return np.take_along_axis(places, lane[:, None], axis=1)[:, 0]


# ----------------------------------------------------------------------------------------------------------------- rope
# Rotary position embedding, alone and together with head norms and writes to a cache; (token, head, number).


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


# -------------------------------------------------------------------------------------------------------------- routing
# Mixtures of experts: see `tileverify.kernels.device.routing`.


def route(logits: Array, count: int, renormalize: bool) -> tuple[Integers, Floats]:
    """The experts with the largest logits, and ``exp(logit) / Σ exp(logit)`` over all, or over those"""
    wide = logits.astype(np.float64)
    experts = np.argsort(-wide, axis=1, kind="stable")[:, :count]
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    shares = np.take_along_axis(powers, experts, axis=1)
    return experts, shares / (shares if renormalize else powers).sum(axis=1, keepdims=True)


def expert_counts(experts: Integers, count: int) -> Integers:
    """How often e occurs, for e below ``count``"""
    return np.bincount(experts[(experts >= 0) & (experts < count)], minlength=count)


def expert_offsets(counts: Integers, align: int) -> Integers:
    """``Σ align * ceil(counts[j] / align)`` for j < e"""
    return np.concatenate([[0], np.cumsum(-(-counts // align) * align)])


def tile_experts(offsets: Integers, tiles: int, align: int) -> Integers:
    """The e with ``offsets[e] <= align * i < offsets[e + 1]`` for each tile i; -1 for none"""
    expert = np.searchsorted(offsets[1:], np.arange(tiles) * align, side="right")
    return np.where(expert < len(offsets) - 1, expert, -1)


def expert_places(experts: Integers, offsets: Integers) -> Integers:
    """``offsets[e]`` and the number of items with the same expert before this one"""
    before = [int((experts[:i] == expert).sum()) for i, expert in enumerate(experts)]
    result: Integers = offsets[experts] + np.array(before, dtype=np.int64)
    return result


def dispatch(x: Array, places: Integers, out: Array) -> Array:
    """``out[places[t, k]] = x[t]``, other rows as they are"""
    result = out.copy()
    for t, k in np.ndindex(*places.shape):
        if 0 <= places[t, k] < len(out):
            result[places[t, k]] = x[t]
    return result


def combine(rows: Array, places: Integers, weights: Array) -> Floats:
    """``Σ weights[t, k] * rows[places[t, k]]`` over k"""
    out = np.zeros((places.shape[0], rows.shape[1]))
    for t, k in np.ndindex(*places.shape):
        if 0 <= places[t, k] < len(rows):
            out[t] += float(weights[t, k]) * rows[places[t, k]].astype(np.float64)
    return out


# ------------------------------------------------------------------------------------------------------------- products
# Matrix products, without tiles: see `tileverify.kernels.device.products`.


def matmul(a: Array, b: Array) -> Floats:
    """``a b``"""
    result: Floats = a.astype(np.float64) @ b.astype(np.float64)
    return result


def matmul_transposed(a: Array, b: Array) -> Floats:
    """``a bᵀ``"""
    return matmul(a, b.T)


def matmul_add(a: Array, b: Array, residual: Array) -> Floats:
    """``a bᵀ + residual``"""
    return matmul(a, b.T) + residual.astype(np.float64)


def matmul_batched(a: Array, b: Array) -> Floats:
    """``a[i] b[i]``"""
    return matmul(a, b)


def matmul_splits(a: Array, b: Array, splits: int, tile: int) -> Floats:
    """The product over each share of K, in whole tiles."""
    each = math.ceil(math.ceil(a.shape[1] / tile) / splits) * tile
    return np.stack([matmul(a[:, i * each : (i + 1) * each], b[i * each : (i + 1) * each]) for i in range(splits)])


def matmul_transposed_splits(a: Array, b: Array, splits: int, tile: int) -> Floats:
    """The same of ``a bᵀ``."""
    return matmul_splits(a, b.T, splits, tile)


def sum_splits(parts: Array) -> Floats:
    """``Σ parts[i]``"""
    result: Floats = parts.astype(np.float64).sum(axis=0)
    return result


def matmul_scaled(a: Array, b: Array, a_scales: Reals, b_scales: Reals, tile_n: int, tile_k: int) -> Floats:
    """``a' b'ᵀ`` for ``a'[m, k] = a[m, k] a_scales[m, k // tile_k]``, b' in blocks of tile_n by tile_k."""
    rows, columns = a.shape[1], b.shape[0]
    wide_a = np.repeat(a_scales, tile_k, axis=1)[:, :rows]
    wide_b = np.repeat(np.repeat(b_scales, tile_n, axis=0), tile_k, axis=1)[:columns, :rows]
    return matmul(a.astype(np.float64) * wide_a, (b.astype(np.float64) * wide_b).T)


# ----------------------------------------------------------------------------------------------------- grouped products
# Products of many matrices, without tiles: see `tileverify.kernels.device.grouped_products`.


def matmul_list(a: Sequence[Array], b: Sequence[Array]) -> list[Floats]:
    """``a[i] b[i]``"""
    return [matmul(one, other) for one, other in zip(a, b, strict=True)]


def matmul_experts(x: Array, weights: Array, experts: Array, tile: int) -> Floats:
    """``weights[experts[r // tile]] x[r]`` for each row r; zero where there is no such expert."""
    out = np.zeros((x.shape[0], weights.shape[1]))
    for r in range(x.shape[0]):
        if 0 <= (expert := experts[r // tile]) < weights.shape[0]:
            out[r] = matmul(weights[expert], x[r])
    return out


def matmul_segments(x: Array, weights: Array, offsets: Array) -> Floats:
    """``weights[e] x[r]`` for ``offsets[e] <= r < offsets[e + 1]``; zero for other rows."""
    out = np.zeros((x.shape[0], weights.shape[1]))
    for e, (start, stop) in enumerate(itertools.pairwise(offsets)):
        out[start:stop] = matmul(x[start:stop], weights[e].T)
    return out


# -------------------------------------------------------------------------------------------------------------- vectors
# Products of a matrix with one vector or a few: see `tileverify.kernels.device.vectors`.


def silu(x: Floats) -> Floats:
    """``x / (1 + exp(-x))``"""
    return x / (1.0 + np.exp(-x))


def normed(x: Array, scales: Array, eps: float) -> Floats:
    """``scales * x / sqrt(mean(x²) + eps)``"""
    wide = x.astype(np.float64)
    result: Floats = scales.astype(np.float64) * wide / np.sqrt(np.mean(wide * wide) + eps)
    return result


def matvec(x: Array, weights: Array) -> Floats:
    """``weights x``"""
    return matmul(weights, x)


def matvec_add(x: Array, weights: Array, residual: Array) -> Floats:
    """``weights x + residual``"""
    return matmul(weights, x) + residual.astype(np.float64)


def matvec_gated(x: Array, gates: Array, weights: Array) -> Floats:
    """``silu(gates x) * (weights x)``"""
    return silu(matmul(gates, x)) * matmul(weights, x)


def matvec_normed(x: Array, scales: Array, weights: Array, eps: float) -> Floats:
    """``weights normed(x)``"""
    return matmul(weights, normed(x, scales, eps))


def matvec_normed_gated(x: Array, scales: Array, gates: Array, weights: Array, eps: float) -> Floats:
    """``silu(gates normed(x)) * (weights normed(x))``"""
    return matvec_gated(normed(x, scales, eps), gates, weights)


def matvecs(x: Array, weights: Array) -> Floats:
    """``x weightsᵀ``"""
    return matmul(x, weights.T)


def matvecs_add(x: Array, weights: Array, residual: Array) -> Floats:
    """``x weightsᵀ + residual``"""
    return matmul(x, weights.T) + residual.astype(np.float64)


def matvecs_gated(x: Array, gates: Array, weights: Array) -> Floats:
    """``silu(x gatesᵀ) * (x weightsᵀ)``"""
    return silu(matmul(x, gates.T)) * matmul(x, weights.T)


def matvec_experts(x: Array, weights: Array, experts: Array) -> Floats:
    """``weights[experts[c]] x[c]``; zero where there is no such expert."""
    out = np.zeros((x.shape[0], weights.shape[1]))
    for c, expert in enumerate(experts):
        if 0 <= expert < weights.shape[0]:
            out[c] = matmul(weights[expert], x[c])
    return out
