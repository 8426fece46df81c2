"""What warps know of each other: vector clocks, by which two accesses are ordered or not.

Each warp of a block counts its own time, and knows the time of every warp up to which that one's accesses are over for
it.  A barrier makes all that arrive know what any of them knows, and begins a new time for each.  An instruction that
waits for all threads of a warp (``shfl.sync``, ``bar.warp.sync``) begins a new time, too: the warp has *met*.

    ordered(a, b)  <=>  same thread, or knowledge_b[warp of a] >= time_a, or
                        a's warp is b's, and had met at b for the last time at the end of time_a or later

A copy that the hardware makes by itself knows what its warp knows where it is issued, and nobody knows of it but who
waits for it.  So it has a *column* of its own in all knowledge: one for each barrier at which copies complete, whose
time is the barrier's phase, and two for the groups of copies of each thread (read, and written), whose time is the
number of the group.  It reads and writes through another proxy, too: what threads wrote before is there for it only
once ``fence.proxy.async`` stands in between.  What has passed such a fence is known in two more columns for each warp.

    columns  =  warps, warps as fenced for shared memory, warps as fenced for global memory, copies
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

import numpy as np

from .types import Array

COPIES: Final = 96
"""Columns of copies, in kernels that have any."""
FENCED: Final = {"shared": 1, "global": 2}
"""Which of the columns of a warp."""


class TooManyCopies(Exception):
    """A block has more barriers and groups than there are columns."""


class Clocks:
    """Of ``blocks`` blocks with ``warps`` warps each; warps have numbers through all blocks."""

    def __init__(self, blocks: int, warps: int, *, copies: bool = False) -> None:
        self.warps = warps
        self.copies = copies
        count = blocks * warps
        self.rows: list[Array] = [np.full(3 * warps + COPIES if copies else warps, -1, "i4")]
        self.own = np.zeros(count, "i4")
        self.met = np.full(count, -1, "i4")
        self.row = np.zeros(count, "i4")
        self._touched = np.full((3, count), -2, "i8")  # since which meeting, by which thread first and last
        self._columns: dict[tuple[int, Hashable], int] = {}
        self._used = [0] * blocks

    def meet(self, warps: Array) -> None:
        """All threads of these warps wait for each other."""
        self.met[warps] = self.own[warps]
        self.own[warps] += 1

    def barrier(self, warps: Iterable[int]) -> None:
        """These warps of one block know what any of them knows, and all that they did."""
        found = np.fromiter(warps, "i8")
        self.acquire(found, self.release(found))

    def release(self, warps: Array) -> Array:
        """What these warps know, themselves included; a new time begins for each."""
        known: Array = np.max([self.rows[self.row[warp]] for warp in warps], axis=0)
        for warp in warps:
            place = warp % self.warps
            known[place] = max(known[place], self.own[warp])
        self.own[warps] += 1
        return known

    def acquire(self, warps: Array, known: Array) -> None:
        for warp in warps:
            mine = self.rows[self.row[warp]]
            if (known > mine).any():
                self.rows.append(np.maximum(known, mine))
                self.row[warp] = len(self.rows) - 1

    def table(self) -> Array:
        return np.array(self.rows)

    # --------------------------------------------------------------------------------------- copies
    def fence(self, warps: Array, spaces: Iterable[str]) -> None:
        """What these warps know, and what their threads did, is there for copies of who hears of it."""
        if not self.copies:
            return
        for warp in warps:
            row = self.rows[self.row[warp]].copy()
            for space in spaces:
                start = FENCED[space] * self.warps
                row[start : start + self.warps] = np.maximum(row[start : start + self.warps], row[: self.warps])
                row[start + warp % self.warps] = self.own[warp]
            self.rows.append(row)
            self.row[warp] = len(self.rows) - 1
        self.own[warps] += 1

    def touch(self, threads: Array, warps: Array) -> None:
        """These threads access memory."""
        if not self.copies:
            return
        time, first, last = self._touched
        new = warps[time[warps] != self.met[warps]]
        first[new], last[new] = np.iinfo("i8").max, -1
        time[warps] = self.met[warps]
        np.minimum.at(first, warps, threads)
        np.maximum.at(last, warps, threads)

    def issued(self, thread: int, warp: int) -> int:
        """The row of a copy that a thread issues.  What other threads of its warp did since the warp met is not before
        it."""
        time, first, last = self._touched[:, warp]
        alone = time != self.met[warp] or first == last == thread
        row = self.rows[self.row[warp]].copy()
        row[warp % self.warps] = max(row[warp % self.warps], self.own[warp] if alone else self.met[warp])
        self.rows.append(row)
        self.own[warp] += 1
        return len(self.rows) - 1

    def column(self, block: int, whose: Hashable) -> int:
        """Of copies that complete at one barrier, or in the groups of one thread; raises `TooManyCopies`."""
        found = self._columns.get((block, whose))
        if found is None:
            if self._used[block] == COPIES:
                raise TooManyCopies
            found = self._columns[block, whose] = 3 * self.warps + self._used[block]
            self._used[block] += 1
        return found

    def known_column(self, block: int, whose: Hashable) -> int | None:
        """The same where there was such a copy."""
        return self._columns.get((block, whose))

    def done(self, warps: Array, column: int, time: int) -> None:
        """These warps know that the copies of a column are over, up to a time."""
        known = self.rows[0].copy()
        known[column] = time
        self.acquire(warps, known)
