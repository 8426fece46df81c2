"""Size limits that close what is open: nobody need write them, as every launch of usual size satisfies them.

What closes a question is chosen among relations that the question itself suggests, as far as every launch within limits
satisfies them (`2 * stride < 2**31`), and after them among the limits as they stand (`M * N < 2**31`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from ...contract.terms import Term
from ..case import CLAUSE_LIMITS, Case, Open
from ..rules.clause_search import fewest
from .clauses import Clause
from .narrowing import offers

FIT_LIMITS = replace(CLAUSE_LIMITS, nonlinear=300_000)
"""For whether a question is closed by all limits together: products may have a part in it."""


@dataclass
class WithinLimits:
    """Looks for limits that close what ``case`` left open."""

    case: Case

    def close(self, left: list[Open]) -> list[Open]:
        """What stays open within limits.

        Sound because each obligation is proved again under the limits that are adopted.
        """
        parts = self.case.parts
        if not left or parts.is_literal or not parts.has_limits:
            return left
        self.case.finder = self.case.aside(self.case.session)
        still = [opened for opened in left if not self._closed(opened)]
        self.case.drop_implied({})
        return still

    def _closed(self, opened: Open) -> bool:
        obligation = opened.obligation
        if obligation.blocked is not None or self.case.exhausted():
            return False
        with self.case.session.effort.about(obligation):
            clauses = self._limits_for(opened)
            if not clauses:
                return False
            self.case.adopt(clauses)
            if self.case.decide_one(obligation) is not None:
                return False
        self.case.tally.codes.add(obligation.code)
        return True

    def _limits_for(self, opened: Open) -> list[Clause]:
        """As few limits as close what is open, the most natural ones; none if all together do not."""
        parts = self.case.parts
        with self.case.question(opened, FIT_LIMITS) as closes:
            if closes(()):
                return []
            for limits in (parts.alone, parts.limits):
                if closes(limits):
                    chosen = fewest([*self._natural(opened), *limits], closes)
                    return self.case.worded(chosen, closes)
        return []

    def _natural(self, opened: Open) -> Iterator[Term]:
        groups = offers(
            opened.obligation, opened.conditions, self.case.decider.facts, self.case.contract, self.case.lane_counts()
        )
        return filter(self.case.parts.is_limit, dict.fromkeys(chain.from_iterable(groups)))
