"""A confirmed witness made small: fewest blocks, then small sizes and scalars, then low block ids and iterations.

Each number in turn is lowered as far as the solver finds models and the replay confirms them, and then held there.  The
last witness that was confirmed is kept, so nothing is ever lost; questions, their resources and replays are counted,
so the result depends on the question alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from ...contract import terms as t
from ...contract.terms import Term
from ..budgets import SMALLER_TOTAL
from ..obligations.answers import Answer, Model
from ..smt import Decider

MOST_QUESTIONS: Final = 60
MOST_STEPS: Final = 1 << 24
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
    """A number to make small, but not smaller than ``least``."""

    term: Term
    least: int = 0


@dataclass
class Minimiser(Generic[Witnessed]):
    """Lowers ``best`` goal by goal.

    ``decider`` knows all conditions of a witness, ``value`` reads a number off a model, ``confirm`` replays a model.
    """

    best: Witnessed
    decider: Decider
    value: Callable[[Model, Term], int]
    confirm: Callable[[Model], Witnessed | None]
    questions: int = MOST_QUESTIONS
    resources: int = SMALLER_TOTAL
    replays: int = field(init=False)
    _end: int = field(init=False)
    _held: list[Term] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._end = self.decider.spent + self.resources
        self.replays = min(MOST_REPLAYS, MOST_STEPS // max(self.best.steps, 1))

    def prefer(self, conditions: Sequence[Term]) -> Witnessed:
        """A witness that satisfies ``conditions``, which then hold, or the best one as it is."""
        model = self._ask(conditions)
        if model is not None and self._confirmed(model):
            self._held += conditions
        return self.best

    def lower(self, goals: Iterable[Goal]) -> Witnessed:
        """The witness after all goals."""
        for goal in goals:
            self._lower(goal)
            self._held.append(t.eq(goal.term, t.const(self.value(self.best.model, goal.term))))
        return self.best

    def _lower(self, goal: Goal) -> None:
        """First all the way, then by one, for most numbers can go either there or nowhere; then by halves.

        Where the replay did not see the fault, larger numbers alone are tried, and no longer those at the low end.
        """
        least, most = goal.least, self.value(self.best.model, goal.term) - 1
        bounds, refused = [least, most], False
        while least <= most and self._may_ask():
            low = (least + most + 1) // 2 if refused else least
            high = (low + most) // 2 if refused else bounds.pop(0) if bounds else (least + most) // 2
            if not low <= high <= most:
                continue
            model = self._ask([t.le(t.const(low), goal.term), t.le(goal.term, t.const(high))])
            if model is None:
                least = high + 1
            elif self._confirmed(model):
                most = self.value(model, goal.term) - 1
            else:
                least, refused = self.value(model, goal.term) + 1, True

    def _may_ask(self) -> bool:
        return self.questions > 0 and self.replays > 0 and self.decider.spent < self._end

    def _ask(self, conditions: Sequence[Term]) -> Model | None:
        """A model of ``conditions`` beside what is held."""
        if not self._may_ask():
            return None
        self.questions -= 1
        result = self.decider.decide([*self._held, *conditions], model=True)
        return result.model if result.answer is Answer.SATISFIABLE else None

    def _confirmed(self, model: Model) -> bool:
        """Whether the replay sees the fault in the launch of ``model``, which is the best witness then."""
        self.replays -= 1
        found = self.confirm(model)
        if found is None:
            return False
        self.best = found
        return True


def distance_from_zero(term: Term) -> Term:
    """``|term|``."""
    return term if term.low is not None and term.low >= 0 else t.maximum(term, t.neg(term))
