"""The resource budget of one kernel, and where it was spent.

One budget pays for everything: the launch's own proof, wider contracts, clauses, facts, witnesses.  It counts the
solver's resource units, and a fixed number of units for writing down each question.  It never counts seconds, so a slow
machine spends as much as a fast one.  When it is spent, every further question stays open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from .budgets import KERNEL_EFFORT

if TYPE_CHECKING:
    from .obligations.obligations import Obligation

Place: TypeAlias = "tuple[str, tuple[int, ...]] | None"


@dataclass
class ResourceBudget:
    """``most``: units of the whole budget.  ``stage`` and ``obligation``: the present ones, for accounting and
    progress."""

    most: int = KERNEL_EFFORT
    spent: int = 0
    stage: str = ""
    obligation: Obligation | None = None
    _end: int = field(init=False)  # the count at which the present work must stop
    _paid: Counter[tuple[str, Place]] = field(default_factory=Counter)
    _known: dict[Place, Obligation | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._end = self.most

    @property
    def left(self) -> int:
        """Units that the present work may still take."""
        return max(self._end - self.spent, 0)

    @property
    def is_spent(self) -> bool:
        """Whether no units are left for the present work."""
        return self.spent >= self._end

    def charge(self, units: int) -> None:
        """Charge the present stage and obligation."""
        self.spent += units
        place = _place(self.obligation)
        self._known.setdefault(place, self.obligation)
        self._paid[self.stage, place] += units

    @contextmanager
    def at(self, stage: str) -> Iterator[None]:
        """Charge this stage inside the block."""
        before = self.stage, self.obligation
        self.stage, self.obligation = stage, None
        try:
            yield
        finally:
            self.stage, self.obligation = before

    @contextmanager
    def about(self, obligation: Obligation) -> Iterator[None]:
        """Charge this obligation of the present stage inside the block."""
        before, self.obligation = self.obligation, obligation
        try:
            yield
        finally:
            self.obligation = before

    @contextmanager
    def share(self, parts: int) -> Iterator[None]:
        """Inside the block, spend at most one of ``parts`` equal parts of the budget."""
        before = self._end
        self._end = min(before, self.spent + self.most // parts)
        try:
            yield
        finally:
            self._end = before

    def most_expensive(self) -> tuple[str, Obligation | None, int]:
        """The stage and obligation with the highest cost, and that cost in units; the first of equal ones."""
        (stage, place), units = max(self._paid.items(), key=lambda each: each[1])
        return stage, self._known[place], units


def _place(obligation: Obligation | None) -> Place:
    """A key that is the same when an obligation is built again under other facts."""
    if obligation is None:
        return None
    items = (obligation.first, obligation.second, obligation.promise)
    return obligation.code, tuple(item.offset for item in items if item is not None)
