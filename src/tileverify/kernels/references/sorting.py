"""Stable sorting: see `tileverify.kernels.device.sorting`."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def digits(keys: Array, shift: int) -> Array:
    """Bits ``shift`` to ``shift + 3``, the sign bit turned over."""
    flipped = keys.astype(np.int64) + 2**31
    return (flipped >> shift) & 15


def digit_counts(keys: Array, shift: int, tile: int) -> Array:
    """How often digit d occurs in tile i, at [d, i]"""
    own = digits(keys, shift)
    return np.stack([np.bincount(own[i : i + tile], minlength=16) for i in range(0, len(keys), tile)], axis=1)


def digit_places(keys: Array, shift: int) -> Array:
    """Where a stable sort by the digit puts each key, if starts are the prefix sums of the counts"""
    places = np.empty(len(keys), np.int64)
    places[np.argsort(digits(keys, shift), kind="stable")] = np.arange(len(keys))
    return places


def move(x: Array, places: Array) -> Array:
    """``out[places[i]] = x[i]``"""
    out = np.empty_like(x)
    out[places] = x
    return out


def sort_tiles(keys: Array, values: Array, tile: int) -> tuple[Array, Array]:
    """Keys in rising order within each tile, equal ones as they were, and the values that belong to them"""
    order = np.lexsort((np.arange(len(keys)), keys, np.arange(len(keys)) // tile))
    return keys[order], values[order]


def merge_runs(keys: Array, values: Array, bits: int) -> tuple[Array, Array]:
    """The same in tiles of ``2 ** (bits + 1)``, which is to merge two sorted halves"""
    return sort_tiles(keys, values, 2 ** (bits + 1))
