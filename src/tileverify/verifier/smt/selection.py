"""One question under changing sets of clauses, which the solver sees once and is told which of them count."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...frontend.symbolic import terms as t
from ...frontend.symbolic.terms import Scope, Sort, Term
from .answers import Answer, Limits
from .rung import Rung


class Selection:
    """Whether ``conditions`` cannot hold together under clauses that are chosen anew each time.

    A clause c is asserted as ``switch -> c``, and the solver decides under the switches of those that count, so that
    nothing is translated twice and what was learned under one choice serves the next.  Linear integers only, and no
    twins are merged.
    """

    def __init__(
        self, rung: Rung, conditions: Sequence[Term], limits: Limits, expanded: Callable[[Sequence[Term]], list[Term]]
    ) -> None:
        self._rung, self._limits, self._expanded = rung, limits, expanded
        self._switches: dict[Term, Term] = {}
        rung.push(expanded(conditions))

    def close(self) -> None:
        """Ends the question; the solver must not have been asked anything else before."""
        self._rung.pop()

    def asks(self, clauses: Sequence[Term]) -> Answer:
        """Whether the conditions can hold under these clauses (and the solver's facts)."""
        self._rung.extend([t.or_(t.not_(self._switch(each)), *self._expanded([each])) for each in clauses])
        chosen = [self._switch(each) for each in clauses]
        return self._rung.settle(self._limits, chosen)[0]

    def _switch(self, clause: Term) -> Term:
        number = len(self._switches)
        return self._switches.setdefault(clause, t.var(f"clause {number} counts", Scope.LAUNCH, sort=Sort.BOOL))
