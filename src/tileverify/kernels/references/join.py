"""Joins of two columns of keys: see `tileverify.kernels.device.join`."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def pairs(left: Array, keys: Array) -> list[tuple[int, int]]:
    """All (i, j) with ``left[i] == keys[j]``, in order: those of `write_from_chains` may come in another one."""
    return [(int(i), int(j)) for i, key in enumerate(left) for j in np.flatnonzero(keys == key)]


def count_in_chains(left: Array, keys: Array) -> Array:
    """How many j there are with ``left[i] == keys[j]``"""
    return count_in_sorted(left, np.sort(keys))[1]


def count_in_sorted(left: Array, keys: Array) -> tuple[Array, Array]:
    """The first such j among sorted keys, and how many there are"""
    first = np.searchsorted(keys, left, side="left")
    return first, np.searchsorted(keys, left, side="right") - first
