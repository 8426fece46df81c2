"""The obligations that refute a kernel, by what goes wrong: those that ask for a kind of fault ask here."""

from __future__ import annotations

from typing import Final

from .codes import CODES, TV, Family


def _refuting(family: Family) -> tuple[TV, ...]:
    """The obligations of one family that refute a kernel."""
    return tuple(code.code for code in CODES.values() if code.broken and code.family is family)


BETWEEN_BLOCKS: Final = _refuting(Family.BETWEEN_BLOCKS)
INSIDE_BLOCK: Final = _refuting(Family.INSIDE_BLOCK)
CONFLICTS: Final = (*BETWEEN_BLOCKS, *INSIDE_BLOCK)
"""Two accesses or lanes meet in an element."""
BOUNDS: Final = _refuting(Family.BOUNDS)
"""An access goes where it may not."""
EVENTS: Final = (*BOUNDS, *_refuting(Family.PROMISE))
"""What happens at one op: a run of one block shows it."""
