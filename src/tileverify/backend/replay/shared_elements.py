"""Which elements of an array two accesses share: as a box of index ranges where they form one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from ...results import Elements
from ..interpreter import DynamicAccess
from ..interpreter.access_log import Footprint, Runs
from ..interpreter.memory import Provenance
from ..interpreter.values import Array

MOST_ELEMENTS: Final = 1 << 22
"""Of more elements than these the first one is named, and how many there are."""


@dataclass(frozen=True, slots=True)
class Named:
    """Elements in words; ``elements`` where they have indices."""

    text: str
    elements: Elements | None


# ------------------------------------------------------------------------------------------- which bytes
def shared_runs(first: DynamicAccess, second: DynamicAccess | None) -> list[Runs]:
    """The bytes that both accesses touch and one of them writes; of one access alone, those that two lanes write."""
    if second is None:
        assert first.writes is not None
        return [_doubled(first.writes)]
    return [
        _intersection(mine.runs, other.runs)
        for mine in first.footprints
        for other in second.footprints
        if mine is first.writes or other is second.writes
    ]


def _doubled(footprint: Footprint) -> Runs:
    addresses, counts = np.unique(footprint.addresses(), return_counts=True)
    starts = addresses[counts > 1]
    return starts, starts + footprint.width


def _intersection(first: Runs, second: Runs) -> Runs:
    """The common parts of two lists of disjoint intervals in ascending order."""
    (starts, ends), (other_starts, other_ends) = first, second
    low = np.searchsorted(other_ends, starts, side="right")
    high = np.searchsorted(other_starts, ends, side="left")
    met = np.maximum(high - low, 0)
    mine, other = np.repeat(np.arange(len(starts)), met), _counted(low, met)
    return np.maximum(starts[mine], other_starts[other]), np.minimum(ends[mine], other_ends[other])


def _counted(firsts: Array, counts: Array) -> Array:
    """``firsts[0], firsts[0] + 1, ...``, ``counts[0]`` of them, and so on for every start."""
    before = np.cumsum(counts) - counts
    return np.asarray(np.arange(int(counts.sum())) + np.repeat(firsts - before, counts))


# ---------------------------------------------------------------------------------------- which elements
def name_elements(origin: Provenance, runs: Sequence[Runs]) -> Named:
    """The elements of ``origin`` that the bytes of ``runs`` (absolute addresses, at least one) belong to."""
    starts, ends = (np.concatenate(parts) - origin.base for parts in zip(*runs, strict=True))
    width = origin.element_bytes
    firsts, counts = starts // width, -(-ends // width) - starts // width
    first = origin.element(origin.base + int(firsts.min()) * width)
    if int(counts.sum()) > MOST_ELEMENTS:
        return _without_box(origin, first, int(counts.sum()))
    storage = np.unique(_counted(firsts, counts))
    coordinates = coordinates_of(origin, storage)
    if coordinates is None:
        return _and_more(first, len(storage), None)
    ranges = tuple((int(axis.min()), int(axis.max()) + 1) for axis in coordinates)
    if prod(end - start for start, end in ranges) != len(storage):
        return _without_box(origin, first, len(storage))
    return box(origin.name, ranges)


def _without_box(origin: Provenance, first: str, count: int) -> Named:
    return _and_more(first, count, Elements(origin.name, (), count))


def _and_more(first: str, count: int, elements: Elements | None) -> Named:
    return Named(f"{first} and {count - 1} more" if count > 1 else first, elements)


def box(array: str, ranges: Sequence[tuple[int, int]]) -> Named:
    """``out[3, 0:64]``, half-open as Python's slices."""
    axes = (str(start) if end == start + 1 else f"{start}:{end}" for start, end in ranges)
    count = prod(end - start for start, end in ranges)
    return Named(f"{array}[{', '.join(axes)}]", Elements(array, tuple(ranges), count))


def coordinates_of(origin: Provenance, storage: Array) -> list[Array] | None:
    """The index of every element, by dimension, as `Provenance.element` reads it; ``None`` without a layout."""
    if origin.shape is None or origin.strides is None:
        return None
    if (storage < 0).any() or (storage * origin.element_bytes >= origin.size).any():
        return None
    rest, index = storage, [np.zeros_like(storage)] * len(origin.shape)
    for axis in sorted(range(len(index)), key=origin.strides.__getitem__, reverse=True):
        if origin.strides[axis]:
            index[axis] = np.minimum(rest // origin.strides[axis], origin.shape[axis] - 1)
            rest = rest - index[axis] * origin.strides[axis]
    return None if rest.any() else index
