"""Mixtures of experts: see `tileverify.kernels.device.routing`."""

from __future__ import annotations

import numpy as np

from .kinds import Array, Floats, Integers


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
