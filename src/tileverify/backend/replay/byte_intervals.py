"""Bytes that blocks touch, as intervals, and which two blocks have some in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..interpreter.values import Array


class Intervals(NamedTuple):
    """Bytes ``[starts, ends)``, each of one block, which is a number; -1 stands for several."""

    starts: Array
    ends: Array
    owners: Array


def union(starts: Array, ends: Array) -> tuple[Array, Array]:
    """The same bytes as intervals that are apart, in their order."""
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    begins = np.concatenate(([True], starts[1:] > reach[:-1]))
    return starts[begins], reach[np.concatenate((begins[1:], [True]))]


def in_order(found: Sequence[Intervals]) -> Intervals:
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return Intervals(*(column[order] for column in columns))


def owned(intervals: Intervals) -> tuple[Intervals, tuple[int, int] | None]:
    """The same bytes in intervals that are apart, with the block that alone has them, or -1; and two blocks that share
    some.  Those of one block are apart, so in the order of their starts the first two that meet are neighbours."""
    starts, ends, owners = intervals
    meets = np.flatnonzero(starts[1:] < np.maximum.accumulate(ends)[:-1])
    if not len(meets):
        return intervals, None
    pair = int(owners[meets[0]]), int(owners[meets[0] + 1])
    reach = np.maximum.accumulate(ends)
    begins = np.concatenate(([True], starts[1:] >= reach[:-1]))
    groups = np.flatnonzero(begins)
    same = np.minimum.reduceat(owners, groups) == np.maximum.reduceat(owners, groups)
    joint = np.where(same, owners[groups], -1)
    return Intervals(starts[groups], np.maximum.reduceat(ends, groups), joint), pair


def shared_by(alone: Intervals, intervals: Intervals, others: Intervals) -> tuple[int, int] | None:
    """Two blocks with bytes of ``intervals`` and of ``others`` in common; ``alone``: the first ones, `owned`."""
    low = np.searchsorted(alone.ends, others.starts, side="right")
    high = np.searchsorted(alone.starts, others.ends, side="left")
    meets = np.flatnonzero(low < high)
    if not len(meets):
        return None
    turns = np.cumsum(np.concatenate(([0], alone.owners[1:] != alone.owners[:-1])))
    first, last, block = low[meets], high[meets] - 1, others.owners[meets]
    wrong = (alone.owners[first] != block) | (turns[first] != turns[last])
    for place in meets[wrong]:
        pair = _partner(intervals, others, int(place))
        if pair is not None:
            return pair
    return None


def _partner(intervals: Intervals, others: Intervals, place: int) -> tuple[int, int] | None:
    """The block of ``others[place]`` and another one that has bytes of it."""
    block = int(others.owners[place])
    meets = (intervals.starts < others.ends[place]) & (intervals.ends > others.starts[place])
    found = np.flatnonzero(meets & (intervals.owners != block))
    return (block, int(intervals.owners[found[0]])) if len(found) else None
