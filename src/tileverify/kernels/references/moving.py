"""What moves numbers, and sums along an axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .kinds import Floats, Integers


def fill(size: int, value: float) -> Floats:
    """``out = value``"""
    return np.full(size, value, np.float64)


def cast(x: ArrayLike) -> Floats:
    """``out = x``"""
    return np.asarray(x, np.float64)


def embedding(table: ArrayLike, ids: Integers) -> Floats:
    """``out[t] = table[ids[t]]``"""
    return np.asarray(table, np.float64)[ids]


def gather_rows(x: ArrayLike, rows: Integers) -> Floats:
    """``out[t] = x[rows[t]]``, and zeros where ``x`` has no such row."""
    x = np.asarray(x, np.float64)
    there = (rows >= 0) & (rows < len(x))
    return np.where(there[:, None], x[np.where(there, rows, 0)], 0)


def to_stack(x: ArrayLike, stack: ArrayLike, layer: int) -> Floats:
    """``stack[layer] = x``"""
    found = np.array(stack, np.float64)
    found[layer] = x
    return found


def from_stack(stack: ArrayLike, layer: int) -> Floats:
    """``out = stack[layer]``"""
    return np.asarray(np.asarray(stack, np.float64)[layer])


def transpose(x: ArrayLike) -> Floats:
    """``out[n, m] = x[m, n]``"""
    return np.asarray(x, np.float64).T


def swap_heads(x: ArrayLike) -> Floats:
    """``out[b, h, r] = x[b, r, h]``"""
    return np.swapaxes(np.asarray(x, np.float64), 1, 2)


def row_sums(x: ArrayLike) -> Floats:
    """``out = sum of x`` for each row."""
    return np.asarray(np.asarray(x, np.float64).sum(axis=1))


def row_means(x: ArrayLike) -> Floats:
    """``out = mean of x`` for each row."""
    return np.asarray(np.asarray(x, np.float64).mean(axis=1))


def row_maxima(x: ArrayLike) -> Floats:
    """``out = maximum of x`` for each row."""
    return np.asarray(np.asarray(x, np.float64).max(axis=1))


def column_sums(x: ArrayLike) -> Floats:
    """``out = sum of x`` for each column."""
    return np.asarray(np.asarray(x, np.float64).sum(axis=0))


def column_sum_partials(x: ArrayLike, groups: int, tile_m: int) -> Floats:
    """``out[g] = sum of x`` over tiles g, g + groups, ... of ``tile_m`` rows."""
    x = np.asarray(x, np.float64)
    group = np.arange(len(x)) // tile_m % groups
    return np.stack([x[group == g].sum(axis=0) for g in range(groups)])
