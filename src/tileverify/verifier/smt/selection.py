"""One question under changing sets of clauses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...frontend.symbolic.terms import Term
from .answers import Answer, Limits
from .rung import Rung


class Selection:
    """Whether ``conditions`` can hold together under clauses that are chosen anew each time.

    What the conditions ask of the solver is done once.  Linear integers only, and no twins are merged.
    """

    def __init__(
        self, rung: Rung, conditions: Sequence[Term], limits: Limits, expanded: Callable[[Sequence[Term]], list[Term]]
    ) -> None:
        self._rung, self._limits, self._expanded = rung, limits, expanded
        rung.push(expanded(conditions))

    def close(self) -> None:
        """Ends the question; the solver must not have been asked anything else before."""
        self._rung.pop()

    def closes(self, clauses: Sequence[Term]) -> bool:
        """Whether the conditions contradict these clauses (and the solver's facts); False means "not seen"."""
        # Clauses behind switches would be asserted once, but the lemmas about those that do not count stay in the way.
        self._rung.push(self._expanded(clauses))
        try:
            return self._rung.settle(self._limits)[0] is Answer.UNSATISFIABLE
        finally:
            self._rung.pop()
