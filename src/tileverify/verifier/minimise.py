"""A confirmed witness made small: fewest blocks, then small sizes and scalars, then low block ids and iterations.

Each number in turn is lowered as far as the solver finds models and the replay confirms them, and then held there.  The
last witness that was confirmed is kept, so nothing is ever lost; questions, their resources and replays are counted,
so the result depends on the question alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.terms import Term
from .smt import Answer, Decider, Limits, Model

LIMITS: Final = Limits(linear=100_000, nonlinear=200_000, rounds=20, total=300_000)
"""A smaller witness that is hard to find is not worth the wait."""

MOST_QUESTIONS: Final = 60
MOST_STEPS: Final = 1 << 25
"""Interpreter steps for all replays together, reckoned by what the first one took: some tenths of a second."""
MOST_REPLAYS: Final = 24


class Confirmed(Protocol):
    """A witness that the replay saw."""

    @property
    def model(self) -> Model: ...

    @property
    def steps(self) -> int:
        """Interpreter steps that its replay took."""
        ...


Witnessed = TypeVar("Witnessed", bound=Confirmed)


@dataclass(frozen=True, slots=True)
class Goal:
    """A number to make small.  ``least``: no witness goes below it."""

    term: Term
    least: int = 0


@dataclass
class Minimiser(Generic[Witnessed]):
    """Lowers ``best`` goal by goal.

    ``decider`` knows all conditions of a witness; ``value`` reads a goal off a witness; ``confirm`` replays a model.
    """

    best: Witnessed
    decider: Decider
    value: Callable[[Witnessed, Term], int]
    confirm: Callable[[Model], Witnessed | None]
    questions: int = MOST_QUESTIONS
    replays: int = field(init=False)
    _held: list[Term] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.replays = min(MOST_REPLAYS, MOST_STEPS // max(self.best.steps, 1))

    def prefer(self, conditions: Sequence[Term]) -> Witnessed:
        """A witness that satisfies ``conditions``, which then hold, or the best one as it is."""
        if self._found(conditions):
            self._held += conditions
        return self.best

    def lower(self, goals: Iterable[Goal]) -> Witnessed:
        """The witness after all goals."""
        for goal in goals:
            self._lower(goal)
            self._held.append(t.eq(goal.term, t.const(self.value(self.best, goal.term))))
        return self.best

    def _lower(self, goal: Goal) -> None:
        """First all the way, then by one, for most numbers can go either there or nowhere; then by halves."""
        known, least = self.value(self.best, goal.term), goal.least
        bounds = [least, known - 1]
        while least < known:
            bound = bounds.pop(0) if bounds else (least + known - 1) // 2
            if not least <= bound < known:
                continue
            if self._found([t.le(goal.term, t.const(bound))]):
                known = self.value(self.best, goal.term)
            else:
                least = bound + 1

    def _found(self, conditions: Sequence[Term]) -> bool:
        """Whether a witness satisfies ``conditions`` beside what is held; it is the best one then."""
        if self.questions <= 0 or self.replays <= 0:
            return False
        self.questions -= 1
        result = self.decider.decide([*self._held, *conditions])
        if result.answer is not Answer.SATISFIABLE or result.model is None:
            return False
        self.replays -= 1
        confirmed = self.confirm(result.model)
        if confirmed is None:
            return False
        self.best = confirmed
        return True


def distance_from_zero(term: Term) -> Term:
    """``|term|``."""
    return term if term.low is not None and term.low >= 0 else t.maximum(term, t.neg(term))
