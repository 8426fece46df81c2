"""What a device can count of an array, so that a count of all elements says that a fact holds of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Counted(enum.Enum):
    """Which elements are counted."""

    IN_RANGE = enum.auto()
    """Those in [low, high)."""
    NOT_FALLING = enum.auto()
    """Those that are no more than the element behind them, and the last one."""
    FIRST_IN_RANGE = enum.auto()
    """Those in [low, high) whose value was not met before."""


@dataclass(frozen=True, slots=True)
class Count:
    """``low`` and ``high``: the limits of what is counted, where it has such."""

    what: Counted
    low: int = 0
    high: int = 0
