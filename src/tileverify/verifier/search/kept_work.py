"""Proofs that add clauses, and see to it that the launches which those leave do the kernel's work (`work`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ... import terms as t
from ...contract.wording import can_be_said
from ...terms import Term
from ..proving import CLAUSE_LIMITS, Proving
from ..rules.answers import Answer
from ..rules.fact_instances import data_facts
from ..rules.obligations import Obligation, reached
from ..rules.projection import conjuncts
from ..rules.protocols import watched
from ..rules.work import Demand, axes_of_work, demands, writing


@dataclass
class KeptWork(Proving):
    _demanded: list[list[Demand]] = field(default_factory=list)  # of every obligation that clauses were looked for
    _kept: dict[tuple[Demand, int], bool] = field(default_factory=dict)  # by the number of clauses then

    def _demands(self, obligation: Obligation) -> Iterator[Demand]:
        """What clauses for the obligation have to leave, with what is known of contents, and of what blocks hand to
        each other."""
        shared = watched(self._sites)
        for demand in demands(obligation, self._by_number, self.contract, self.summary.read_axes, frozenset(shared)):
            conditions = demand.conditions
            if shared:
                question = replace(obligation, conditions=conditions, grounds=())
                conditions = self._protocols.with_values(question).conditions
            yield replace(demand, conditions=(*conditions, *data_facts(conditions, self.contract, self._origins)))

    def _can_be_kept(self, demand: Demand) -> bool:
        """Whether the demand means anything: unless no launch keeps it, whatever clauses are offered."""
        key = demand, len(self.clauses)
        if key not in self._kept:
            asked = [*demand.conditions, t.not_(demand.unless)]
            self._kept[key] = self._finder.decide(asked, limits=CLAUSE_LIMITS).answer is not Answer.UNSATISFIABLE
        return self._kept[key]

    def _leaves(self, wanted: Sequence[Demand], offered: Sequence[Term]) -> bool:
        """Whether what is wanted for one obligation is done in launches with the clauses on offer."""
        return all(self._possible([*demand.conditions, *offered]) or not self._can_be_kept(demand) for demand in wanted)

    def _leaves_others(self, obligation: Obligation, chosen: Sequence[Term]) -> bool:
        """Whether what other obligations are about is still done, and something is written where a flag of the launch
        may switch off what this one is about."""
        if not all(self._leaves(wanted, chosen) for wanted in self._demanded):
            return False
        access = conjuncts(reached(obligation, self._by_number, self.contract))
        if not any(can_be_said(part) for part in access):
            return True
        axes = axes_of_work(self.summary.read_axes)
        return any(self._possible([*demand.conditions, *chosen]) for demand in writing(self._sites, axes))

    def _possible(self, conditions: Sequence[Term]) -> bool:
        return self._finder.decide(conditions, limits=CLAUSE_LIMITS).answer is Answer.SATISFIABLE
