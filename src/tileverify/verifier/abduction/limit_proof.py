"""Size limits that close what is open: nobody need write them, as every launch of usual size satisfies them.

What closes a question is chosen among relations that the question itself suggests, as far as every launch within limits
satisfies them (`2 * stride < 2**31`), and after them among the limits as they stand (`M * N < 2**31`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from ...contract.terms import Term, TermKind, postorder
from ...contract.wording import clause_text
from ..attempt import Open
from ..budgets import CLAUSE_LIMITS
from ..messages import is_readable
from ..obligations.answers import Answer
from ..obligations.fact_use import about_lists, element_facts
from ..obligations.obligations import Obligation, every_obligation
from ..prover import Prover
from .abduce import Closes, fewest
from .clause_candidates import offers
from .clauses import Clause
from .mining import fitting_bounds

FIT_LIMITS = replace(CLAUSE_LIMITS, nonlinear=300_000)
"""For whether a question is closed by all limits together: products may have a part in it."""


class Needed(NamedTuple):
    """A limit that an obligation took; ``conditions`` are how it is broken beyond it."""

    clause: Clause
    obligation: Obligation
    conditions: tuple[Term, ...]


@dataclass
class WithinLimits:
    """Looks for limits that close what ``prover`` left open; ``needed`` says which closed what."""

    prover: Prover
    needed: list[Needed] = field(default_factory=list)
    _fitted: list[tuple[Term, Clause]] = field(default_factory=list)  # by the integer that was made to fit

    def close(self, left: list[Open]) -> list[Open]:
        """What stays open within limits.

        Sound because each obligation is proved again under the limits that are adopted.
        """
        parts = self.prover.parts
        if not left or parts.is_literal or not parts.has_limits:
            return left
        self.prover.search_afresh()
        still = [opened for opened in left if not self._closed(opened)]
        wrapped = [opened for opened in still if opened.obligation.blocked is None and _has_wrap(opened.conditions)]
        if wrapped:
            fresh = self._with_fitting_integers(wrapped)
            still = [opened for opened in still if opened not in wrapped]
            still += [opened for opened in fresh if not self._closed(opened)]
        self.prover.drop_implied({})
        return still

    def _closed(self, opened: Open) -> bool:
        obligation = opened.obligation
        if obligation.blocked is not None or self.prover.exhausted():
            return False
        with self.prover.effort.about(obligation):
            clauses = self._limits_for(opened)
            if not clauses:
                return False
            self.prover.adopt(clauses)
            if isinstance(self.prover.prove(obligation), Open):
                return False
        self.needed += (Needed(clause, obligation, opened.conditions) for clause in clauses)
        return True

    def _limits_for(self, opened: Open) -> list[Clause]:
        """As few limits as close what is open, the most natural ones; none if all together do not."""
        groups = offers(
            opened.obligation,
            opened.conditions,
            self.prover.decider.facts,
            self.prover.contract,
            self.prover.lane_counts(),
        )
        with self.prover.question(opened, FIT_LIMITS) as closes:
            return self._chosen(
                chain.from_iterable(groups), lambda limits: closes(self._of_arrays(limits, opened.conditions))
            )

    def _of_arrays(self, limits: Sequence[Term], conditions: Sequence[Term]) -> list[Term]:
        """The limits, and what those on the arrays of lists say of the ones that ``conditions`` mention."""
        contract = self.prover.contract
        return [*limits, *element_facts(conditions, about_lists(limits, contract.lists), contract)]

    def _chosen(self, natural: Iterable[Term], closes: Closes) -> list[Clause]:
        parts = self.prover.parts
        if not closes(parts.limits):
            return []
        limits = parts.alone if closes(parts.alone) else parts.limits
        said = (term for term in dict.fromkeys(natural) if is_readable([clause_text(term) or ""]))
        candidates = [*filter(parts.is_limit, said), *limits]
        return self.prover.worded(fewest(candidates, closes), closes)

    # ------------------------------------------------------------------------------------- machine integers
    def _with_fitting_integers(self, left: Sequence[Open]) -> list[Open]:
        """What is open of the same accesses and promises, read where their machine integers fit within limits."""
        places = {_place(opened.obligation) for opened in left}
        self.prover.prepare_fitting({offset for place in places for offset in place}, self._made_fit)
        kernel = self.prover.kernel
        found = every_obligation(kernel.sites, kernel.promises, self.prover.contract, places)
        for opened in left:
            parts = {part for condition in opened.conditions for part in postorder(condition)}
            fitted = (clause for wrap, clause in self._fitted if wrap in parts)
            self.needed += (Needed(clause, opened.obligation, opened.conditions) for clause in dict.fromkeys(fitted))
        answers = map(self.prover.prove, map(kernel.protocols.explained, found))
        return [answer for answer in answers if isinstance(answer, Open)]

    def _made_fit(self, wrap: Term, outside: Term, guard: Term) -> bool:
        """Whether limits make ``wrap`` fit, by which they are adopted."""

        def closes(limits: Sequence[Term]) -> bool:
            known = self._of_arrays(limits, [outside, guard])
            asked = self.prover.decider.decide([outside, guard, *known], limits=FIT_LIMITS)
            return asked.answer is Answer.UNSATISFIABLE

        found = self._chosen(chain.from_iterable(fitting_bounds(wrap)), closes)
        self.prover.adopt(found)
        self._fitted += ((wrap, clause) for clause in found)
        return bool(found)


def _has_wrap(conditions: Iterable[Term]) -> bool:
    return any(part.kind is TermKind.WRAP for condition in conditions for part in postorder(condition))


def _place(obligation: Obligation) -> tuple[int, ...]:
    items = (obligation.promise,) if obligation.promise is not None else (obligation.first, obligation.second)
    return tuple(item.offset for item in items if item is not None)
