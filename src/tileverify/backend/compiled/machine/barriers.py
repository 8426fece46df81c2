"""Barriers in shared memory (``mbarrier``): arrivals and bytes that are awaited, phase by phase."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .types import Array


@dataclass
class Mbarrier:
    """``count`` arrivals end a phase, once all bytes that were announced have come.  ``known``: what those that arrived
    in the phase knew (`clocks`), ``over``: in the one before.  ``column``: of the copies that complete here, whose time
    is the phase.  ``maker``: the warp that made it, by its ``thread``, at ``made`` of its time."""

    count: int
    pending: int = field(init=False)
    bytes: int = 0
    phase: int = 0
    known: Array | None = None
    over: Array | None = None
    column: int = -1
    maker: int = -1
    thread: int = -1
    made: int = -1

    def __post_init__(self) -> None:
        self.pending = self.count

    def arrive(self, times: int, known: Array) -> None:
        self.pending -= times
        self.known = known if self.known is None else np.maximum(self.known, known)
        self._turn()

    def expect(self, bytes_: int) -> None:
        self.bytes += bytes_

    def complete(self, bytes_: int) -> None:
        self.bytes -= bytes_
        self._turn()

    def _turn(self) -> None:
        if self.pending <= 0 and not self.bytes:
            if self.column >= 0 and self.known is not None:
                self.known[self.column] = self.phase
            self.phase += 1
            self.pending, self.over, self.known = self.count, self.known, None
