"""What a block does with poison and at undefined behaviour.

What the specification leaves open is poison: it taints the lanes that depend on it (`values`).  A `Conduct` says what
happens where poison would decide something.

* A **replay** looks for what every device must do.  Any taint (also "another rounding", "another interleaving") that
  reaches a mask, an address, an index or an atomic comparison leaves that access out of the log, and one that reaches a
  branch ends the block.  A store of poison is none of the prover's faults: it taints the memory, and later loads read
  poison.  Undefined behaviour is recorded and the block goes on.
* A **run** computes one legal execution for a user, so another rounding or interleaving may decide what it likes.  But
  an unspecified value, or an address whose computation overflowed, must not reach a store, an atomic, a mask, an
  index, a branch, a loop bound or an assumption: the run ends there.  It also ends at the first undefined behaviour.
* A run that **keeps going** ends only where there is no way to go on: at an unspecified mask, index, branch, bound or
  comparison.  Written poison taints the memory and is noted, undefined behaviour is recorded.

A print shows unspecified lanes as such, and an assertion about them counts as failed (`host`), in every conduct.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...frontend.bytecode.model import Op
from .faults import OpenUse
from .values import OVERFLOWED, UNSPECIFIED, Array, Tile, describe_taint, taint_bits


@dataclass(frozen=True, slots=True)
class Conduct:
    """``open``: the taint bits that may not decide anything.

    ``executes``: an open value that decides about an access or is written ends the run.  ``stops``: undefined behaviour
    does so, too; without it, written poison does not.
    """

    open: int
    executes: bool
    stops: bool

    def open_lanes(self, tile: Tile) -> Array | None:
        """The taint of ``tile`` that may not decide anything; ``None`` if there is none."""
        if tile.taint is None:
            return None
        marks = self.opened(tile.taint)
        return marks if marks.any() else None

    def opened(self, taint: Array) -> Array:
        """Of the taint of what steers control, or an access, the bits that may not."""
        return np.asarray(taint & np.uint8(self.open))


REPLAY: Final = Conduct(open=0xFF, executes=False, stops=False)
RUN: Final = Conduct(open=UNSPECIFIED | OVERFLOWED, executes=True, stops=True)
KEEP_GOING: Final = Conduct(open=UNSPECIFIED | OVERFLOWED, executes=True, stops=False)


def open_use(
    op: Op, marks: Array, use: str, element: Callable[[int], str] | None = None, source: Op | None = None
) -> OpenUse:
    """The use of the lanes with ``marks``; ``element`` names where a (flat) lane would be written to."""
    flat = np.flatnonzero(marks)
    first = tuple(int(place) for place in np.unravel_index(flat[0], marks.shape))
    return OpenUse(
        what=describe_taint(taint_bits(marks)),
        use=use,
        op=op.name,
        offset=op.offset,
        lanes=len(flat),
        size=marks.size,
        first=first,
        element=element(int(flat[0])) if element is not None else "",
        source=None if source is None else source.offset,
    )
