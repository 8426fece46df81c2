"""Steps that all replays of one kernel share, so that a check comes to an end whatever its witnesses take.

Claims about blocks that they name, and launches in which any block will do, have purses of their own: dozens of
launches with other contents leave the next claim what it takes, and those of one claim leave some to the next one's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Final

from ..interpreter import Budget

KERNEL_BUDGET: Final = 1 << 26
"""Steps for all claims that a check makes about one kernel; what shows a fault takes a twentieth of it."""

ANYWHERE_BUDGET: Final = 1 << 28
"""Steps for all launches of one kernel in which any block will do: dozens, of up to `any_blocks.MOST_BLOCKS` each."""

ANYWHERE_SHARE: Final = 4
"""One claim's launches may take so large a part of these."""


class Purse:
    """``left`` steps, of which no more than ``share`` are for one purpose; ``None``: without a limit."""

    def __init__(self, left: int | None, share: int | None = None) -> None:
        self.left = left
        self.share = share
        self._taken: Counter[Hashable] = Counter()

    @contextmanager
    def opened(self, most: int, purpose: Hashable = None) -> Iterator[Budget]:
        """Up to ``most`` steps; what is spent of them is gone from the purse and from what the purpose may take."""
        rest = None if self.share is None else max(self.share - self._taken[purpose], 0)
        budget = Budget(steps := min((most, *(limit for limit in (self.left, rest) if limit is not None))))
        try:
            yield budget
        finally:
            taken = steps - budget.left
            self._taken[purpose] += taken
            if self.left is not None:
                self.left = max(self.left - taken, 0)
