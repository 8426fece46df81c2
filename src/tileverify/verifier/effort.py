"""What the whole proof of one kernel may take, and where it went.

One account for everything: the launch's own proof, contracts wider than it, clauses, facts, witnesses.  It counts the
solver's resource units and, for what the questions cost in front of the solver, a fixed number of them for each, never
seconds, so that a slow machine spends as much as a fast one.  When it is spent, no question has an answer any more.
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
class Effort:
    """``most``: units of the whole account.  ``stage`` and ``obligation``: what is at work, for who pays and who
    waits."""

    most: int = KERNEL_EFFORT
    spent: int = 0
    stage: str = ""
    obligation: Obligation | None = None
    _end: int = field(init=False)  # the count at which what is at work has to stop
    _paid: Counter[tuple[str, Place]] = field(default_factory=Counter)
    _known: dict[Place, Obligation | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._end = self.most

    @property
    def left(self) -> int:
        """Units that what is at work may still take."""
        return max(self._end - self.spent, 0)

    @property
    def is_spent(self) -> bool:
        """Whether what is at work may take no more."""
        return self.spent >= self._end

    def charge(self, units: int) -> None:
        """Pay for what is at work."""
        self.spent += units
        place = _place(self.obligation)
        self._known.setdefault(place, self.obligation)
        self._paid[self.stage, place] += units

    @contextmanager
    def at(self, stage: str) -> Iterator[None]:
        """What is paid meanwhile is for this stage."""
        before = self.stage, self.obligation
        self.stage, self.obligation = stage, None
        try:
            yield
        finally:
            self.stage, self.obligation = before

    @contextmanager
    def about(self, obligation: Obligation) -> Iterator[None]:
        """What is paid meanwhile is for this obligation, which is looked at in the present stage."""
        before, self.obligation = self.obligation, obligation
        try:
            yield
        finally:
            self.obligation = before

    @contextmanager
    def share(self, parts: int) -> Iterator[None]:
        """Meanwhile no more is to be had than one of so many equal parts of the account."""
        before = self._end
        self._end = min(before, self.spent + self.most // parts)
        try:
            yield
        finally:
            self._end = before

    def most_expensive(self) -> tuple[str, Obligation | None, int]:
        """The stage and the obligation that most was paid for, and how much; of two that are equal the first."""
        (stage, place), units = max(self._paid.items(), key=lambda each: each[1])
        return stage, self._known[place], units


def _place(obligation: Obligation | None) -> Place:
    """What stays the same when an obligation is made anew, under other facts."""
    if obligation is None:
        return None
    items = (obligation.first, obligation.second, obligation.promise)
    return obligation.code, tuple(item.offset for item in items if item is not None)
