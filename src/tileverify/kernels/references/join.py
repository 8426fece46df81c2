"""Joins of two columns of keys: see `tileverify.kernels.device.join`."""

from __future__ import annotations

import numpy as np

from .kinds import Integers


def pairs(left: Integers, keys: Integers) -> list[tuple[int, int]]:
    """All (i, j) with ``left[i] == keys[j]``, in order: those of `write_from_chains` may come in another one."""
    return [(int(i), int(j)) for i, key in enumerate(left) for j in np.flatnonzero(keys == key)]


def count_in_chains(left: Integers, keys: Integers) -> Integers:
    """How many j there are with ``left[i] == keys[j]``"""
    return count_in_sorted(left, np.sort(keys))[1]


def count_in_sorted(left: Integers, keys: Integers) -> tuple[Integers, Integers]:
    """The first such j among sorted keys, and how many there are"""
    first = np.searchsorted(keys, left, side="left")
    return first, np.searchsorted(keys, left, side="right") - first
