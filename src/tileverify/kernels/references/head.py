"""Largest elements and sampling: see `tileverify.kernels.device.head`."""

from __future__ import annotations

import numpy as np

from .kinds import Array, Floats, Integers, Reals
from .products import matmul


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
