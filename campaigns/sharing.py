"""Whether blocks that ran apart can notice each other at all.

If no block touches a byte that another one writes, then every execution of them together, whatever the schedule, is
the one in which each runs alone: the first read that returned something else would be of a byte that another block had
written before, and until then all of them did what they do alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tileverify.backend.interpreter import BlockLog
from tileverify.backend.interpreter.access_log import Footprint, Runs
from tileverify.backend.interpreter.memory import MemoryImage
from tileverify.backend.interpreter.values import Array


def share_bytes(logs: Sequence[BlockLog], image: MemoryImage) -> bool:
    """Whether some block touches a byte that another one writes."""
    written: dict[int, list[list[Footprint]]] = {}
    read: dict[int, list[list[Footprint]]] = {}
    for number, log in enumerate(logs):
        for access in log.accesses:
            allocation = image.origins[access.origin].allocation
            for footprint in access.footprints:
                places = written if footprint is access.writes else read
                places.setdefault(allocation, [[] for _ in logs])[number].append(footprint)
    return any(_meet(writers, read.get(allocation, ())) for allocation, writers in written.items())


def _meet(writers: Sequence[Iterable[Footprint]], readers: Sequence[Iterable[Footprint]]) -> bool:
    """Whether what one block writes meets what another one writes or reads; one entry for each block."""
    starts, ends, owners = _of_all(writers)
    if (starts[1:] < ends[:-1]).any():  # the intervals of one block are disjoint
        return True
    if not readers:
        return False
    changes = np.concatenate(([0], np.cumsum(owners[1:] != owners[:-1])))
    read_starts, read_ends, read_by = _of_all(readers)
    first = np.searchsorted(ends, read_starts, side="right")
    last = np.searchsorted(starts, read_ends, side="left") - 1
    met = first <= last
    first, last, by = first[met], last[met], read_by[met]
    return bool(((owners[first] != by) | (changes[first] != changes[last])).any())


def _of_all(blocks: Sequence[Iterable[Footprint]]) -> tuple[Array, Array, Array]:
    """Starts and ends of the touched intervals in ascending order of their starts, and the blocks that touch them."""
    unions = [_union([footprint.runs for footprint in footprints]) for footprints in blocks]
    starts = np.concatenate([union[0] for union in unions])
    ends = np.concatenate([union[1] for union in unions])
    owners = np.repeat(np.arange(len(unions)), [len(union[0]) for union in unions])
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order], owners[order]


def _union(runs: Sequence[Runs]) -> Runs:
    """Disjoint intervals that cover the same bytes, in ascending order."""
    if not runs:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    starts, ends = (np.concatenate(column) for column in zip(*runs, strict=True))
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    gaps = np.flatnonzero(starts[1:] > reach[:-1])
    return starts[np.concatenate(([0], gaps + 1))], reach[np.concatenate((gaps, [len(starts) - 1]))]
