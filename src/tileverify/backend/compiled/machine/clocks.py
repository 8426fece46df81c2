"""What warps know of each other: vector clocks, by which two accesses are ordered or not.

Each warp of a block counts its own time, and knows the time of every other warp up to which that one's accesses are
over for it.  A barrier makes all that arrive know what any of them knows, and begins a new time for each.

    ordered(a, b)  <=>  same thread, or a's warp is b's and the warp has met in between, or
                        knowledge_b[warp of a] >= time_a

Threads of a warp have met where they executed an instruction together that waits for all of them (``shfl.sync``,
``bar.warp.sync``): the accesses of a warp before it are issued before those behind it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .types import Array


class Clocks:
    """Of ``blocks`` blocks with ``warps`` warps each; warps have numbers through all blocks."""

    def __init__(self, blocks: int, warps: int) -> None:
        self.warps = warps
        count = blocks * warps
        self.rows: list[Array] = [np.full(warps, -1, "i4")]
        self.own = np.zeros(count, "i4")
        self.row = np.zeros(count, "i4")
        self.turn = np.zeros(count, "i4")

    def meet(self, warps: Array) -> None:
        """All threads of these warps wait for each other."""
        self.turn[warps] += 1

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
