"""The elements that an access touches, as few boxes of index ranges as rows allow."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np

from ...backend.interpreter.access_log import Footprint
from ...backend.interpreter.memory import Provenance
from ...backend.interpreter.values import Array
from ...backend.replay.fault_places import coordinates_of
from ...results.details import Box

MOST_BOXES: Final = 192
"""Boxes that are kept of one footprint; what is drawn of more is marked as cut."""


def elements_in(origin: Provenance, footprints: Sequence[Footprint]) -> Array:
    """The storage indices of the elements of ``origin`` whose bytes are touched, ascending."""
    width = origin.element_bytes
    found = [np.zeros(0, np.int64)]
    for footprint in footprints:
        first = (footprint.addresses() - origin.base) // width
        last = (footprint.addresses() + footprint.width - 1 - origin.base) // width
        found += [first + step for step in range(int((last - first).max(initial=0)) + 1)]
    touched = np.unique(np.concatenate(found))
    return np.asarray(touched[(touched >= 0) & (touched * width < origin.size)])


def boxes_of(origin: Provenance, storage: Array) -> tuple[tuple[Box, ...], bool]:
    """Boxes that cover exactly the elements at ``storage``, and whether some were left out."""
    axes = coordinates_of(origin, storage) if len(storage) else None
    if not axes:
        return (((),) if axes is not None and len(storage) else ()), False
    whole = tuple((int(axis.min()), int(axis.max()) + 1) for axis in axes)
    if prod(end - start for start, end in whole) == len(storage):
        return (whole,), False
    boxes = _merged(_rows(axes))
    return tuple(boxes[:MOST_BOXES]), len(boxes) > MOST_BOXES


def _rows(axes: Sequence[Array]) -> list[Box]:
    """Runs of neighbours along the last axis, in row-major order."""
    order = np.lexsort(tuple(reversed(axes)))
    points = np.stack([axis[order] for axis in axes])
    steps = np.diff(points, axis=1)
    breaks = np.flatnonzero((steps[:-1] != 0).any(axis=0) | (steps[-1] != 1)) + 1
    starts, ends = np.concatenate(([0], breaks)), np.concatenate((breaks, [points.shape[1]])) - 1
    rows = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        lead = [(int(value), int(value) + 1) for value in points[:-1, start]]
        rows.append((*lead, (int(points[-1, start]), int(points[-1, end]) + 1)))
    return rows


def _merged(rows: list[Box]) -> list[Box]:
    """Boxes that agree in all axes but one, in which they are neighbours, as one; inner axes first."""
    rank = len(rows[0])
    for axis in range(rank - 2, -1, -1):
        grown: dict[tuple[Box, int], Box] = {}
        for row in rows:
            others = (*row[:axis], *row[axis + 1 :])
            before = grown.pop((others, row[axis][0]), None)
            start = row[axis][0] if before is None else before[axis][0]
            grown[others, row[axis][1]] = (*row[:axis], (start, row[axis][1]), *row[axis + 1 :])
        rows = list(grown.values())
    return rows
