"""Stable sorting: see `tileverify.kernels.device.sorting`."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .kinds import Integers

E = TypeVar("E", bound=np.generic)


def digits(keys: Integers, shift: int) -> Integers:
    """Bits ``shift`` to ``shift + 3``, the sign bit turned over."""
    flipped = keys.astype(np.int64) + 2**31
    return (flipped >> shift) & 15


def digit_counts(keys: Integers, shift: int, tile: int) -> Integers:
    """How often digit d occurs in tile i, at [d, i]"""
    own = digits(keys, shift)
    return np.stack([np.bincount(own[i : i + tile], minlength=16) for i in range(0, len(keys), tile)], axis=1)


def digit_places(keys: Integers, shift: int) -> Integers:
    """Where a stable sort by the digit puts each key, if starts are the prefix sums of the counts"""
    places = np.empty(len(keys), np.int64)
    places[np.argsort(digits(keys, shift), kind="stable")] = np.arange(len(keys))
    return places


def move(x: NDArray[E], places: Integers) -> NDArray[E]:
    """``out[places[i]] = x[i]``"""
    out = np.empty_like(x)
    out[places] = x
    return out


def sort_tiles(keys: Integers, values: Integers, tile: int) -> tuple[Integers, Integers]:
    """Keys in rising order within each tile, equal ones as they were, and the values that belong to them"""
    order = np.lexsort((np.arange(len(keys)), keys, np.arange(len(keys)) // tile))
    return keys[order], values[order]


def merge_runs(keys: Integers, values: Integers, bits: int) -> tuple[Integers, Integers]:
    """The same in tiles of ``2 ** (bits + 1)``, which is to merge two sorted halves"""
    return sort_tiles(keys, values, 2 ** (bits + 1))
