"""How many lanes of a site touch memory in one launch, over all blocks and iterations."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np

from ...contract.terms import Term
from .regions import Extents, Part, SiteParts, chosen_intervals, ends, holds_at_all
from .values import Array, truth

Bounds: TypeAlias = tuple[int, int]
"""At least, and at most."""


def lanes_touched(parts: SiteParts, extents: Extents) -> tuple[Bounds, tuple[Bounds, ...]]:
    """Accesses of single lanes over all blocks and iterations, and the counts of the parts whose product they are."""
    counts = tuple(_count(part, extents) for part in parts.parts)
    low = prod(each[0] for each in counts) if holds_at_all(parts, extents.values, most=False) else 0
    high = prod(each[1] for each in counts) if holds_at_all(parts, extents.values, most=True) else 0
    return (0 if parts.at_most else low, high), counts


def _count(part: Part, extents: Extents) -> Bounds:
    """The values of a part's variables under which its conditions hold."""
    sizes = extents.sizes
    whole = prod(sizes[each] for each in part.variables)
    if not part.conditions or not whole:
        return whole, whole
    free = chosen_intervals(part, extents, part.variables)
    axes = extents.axes(each for each in part.variables if each not in free)
    counts = np.ones(tuple(size for _, size in axes), np.int64)
    settled: list[Term] = []
    for variable, conditions in free.items():
        low, high = ends(variable, conditions, extents, axes)
        counts = counts * np.maximum(high - low + 1, 0)
        settled += conditions
    least = most = counts
    for condition in part.conditions:
        if condition not in settled:
            known = extents.values.over(condition, axes)
            least = least * truth(known, most=False)
            most = most * truth(known, most=True)
    return _total(least), _total(most)


def _total(counts: Array) -> int:
    return int(counts.sum())
