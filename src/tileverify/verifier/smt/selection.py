"""One question under changing sets of clauses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...contract.terms import Term
from ..budgets import QUESTION
from ..obligations.answers import Answer, Limits
from ..obligations.arithmetic import mentions_bits
from .tier_solver import TierSolver

if TYPE_CHECKING:
    from .decide import Decider


class Selection:
    """Whether ``conditions`` can hold together under clauses that are chosen anew each time.

    What the conditions ask of the solver is done once, when the first choice needs a solver at all.
    """

    def __init__(
        self, decider: Decider, conditions: Sequence[Term], limits: Limits, twins: Sequence[tuple[Term, Term]]
    ) -> None:
        self._decider, self._conditions, self._limits, self._twins = decider, conditions, limits, twins
        self._bits = bool(limits.bits) and mentions_bits(conditions)
        self._tier: TierSolver | None = None

    def close(self) -> None:
        """Ends the question."""
        if self._tier is not None:
            self._tier.pop()

    def closes(self, clauses: Sequence[Term]) -> bool:
        """Whether the conditions contradict these clauses (and the solver's facts); False means "not seen"."""
        if self._decider.session.effort.is_spent:
            return False
        self._decider.session.effort.charge(QUESTION)
        if self._decider.plainly_refuted([*self._conditions, *clauses]):
            return True
        asked = [*self._conditions, *clauses]
        if self._decider.known_to_hold(asked):
            return False
        if self._twins or self._bits:  # which twins are equal depends on the clauses; bits may take another tier
            return self._decider.decide(asked, twins=self._twins, limits=self._limits).answer is Answer.UNSATISFIABLE
        if self._tier is None:
            self._tier = self._decider.tier()
            self._tier.push(self._decider.expanded(self._conditions))
        # Clauses behind switches would be asserted once, but the lemmas about those that do not count stay in the way.
        self._tier.push(self._decider.expanded(clauses))
        try:
            tier = self._tier
            return tier.settle(self._limits, lambda: self._decider.at_hand(tier, asked))[0] is Answer.UNSATISFIABLE
        finally:
            self._tier.pop()
