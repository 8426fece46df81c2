"""The fewest facts of a recording under which a kernel is proved."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..frontend.sources.launch import DataFact
from .clause_search import fewest
from .contract import Contract, DataTerm
from .fact_trial import Key, key_of, with_terms
from .fact_use import FactUse
from .obligations import every_obligation
from .prepare import launch_facts
from .proving import Proving
from .smt import Limits
from .strongest import strongest

CHOICE_LIMITS: Final = Limits(linear=400_000, nonlinear=0, rounds=60, total=800_000)
"""For one obligation under some facts."""

EVERY_LIMITS: Final = Limits(linear=200_000, nonlinear=0, rounds=30, total=400_000, bits=0)
"""For one obligation under all facts that are offered: what stays open under them is looked at no longer."""

LEAST_EFFORT: Final = 100_000
MORE_EFFORT: Final = 3
"""Fewer facts are given so much more than what all that were offered took, in the solver's resource units."""

MOST_TRIED: Final = 40
"""Sets of facts that are tried."""


@dataclass
class FactChoice(Proving):
    """Looks for facts that all hold of one launch, so that no set of them is contradictory.

    Accesses are prepared anew for every set, because facts are also needed to read machine integers as they are meant.
    """

    _own: Contract = field(init=False)
    _terms: dict[DataFact, DataTerm] = field(init=False)
    _tried: int = 0
    _effort: int | None = None

    def choose(self, groups: Sequence[Sequence[DataFact]], wanted: Collection[Key]) -> tuple[DataFact, ...]:
        """As few of the facts as close the ``wanted`` obligations, earlier ones by preference; empty if none do.

        First the most natural ones: of each kind, and for each array, the weakest; and first those that do not tell
        values apart.
        """
        self._own = self.contract
        self._assume((*launch_facts(self.contract), *(clause.condition for clause in self.clauses)))
        self._prepare()
        every = [fact for group in groups for fact in group]
        (terms,) = with_terms([every], self.launch)
        self._terms = dict(zip(every, terms, strict=True))
        natural = list({(fact.kind, fact.array, fact.other): fact for fact in reversed(every)}.values())[::-1]
        plain = [fact for fact in natural if fact.kind not in ("injective", "disjoint_rows", "multiples")]

        def closes(facts: Sequence[DataFact]) -> bool:
            return self._close(facts, wanted)

        for offered, limits in ((plain, self.options.limits), (natural, self.options.limits), (every, EVERY_LIMITS)):
            self._decider.limits = limits
            if offered and closes(offered):
                return tuple(fewest(offered, closes))
        return ()

    def _close(self, facts: Sequence[DataFact], wanted: Collection[Key]) -> bool:
        self._tried += 1
        if self._tried > MOST_TRIED or self._out_of_time():
            return False
        start = self._decider.spent
        terms = strongest(self._terms[fact] for fact in facts)
        self.contract = replace(self._own, data=(*self._own.data, *terms))
        self._use = FactUse(self.contract, said=self._use.said)
        self._prepare_again({offset for _, places in wanted for offset in places})
        for obligation in every_obligation(self._sites, self._promises, self.contract):
            if key_of(obligation) in wanted:
                too_much = self._effort is not None and self._decider.spent - start > self._effort
                if too_much or self._decide_one(obligation) is not None:
                    return False
        if self._effort is None:
            self._effort = max(LEAST_EFFORT, MORE_EFFORT * (self._decider.spent - start))
            self._decider.limits = replace(CHOICE_LIMITS, linear=self._effort, total=self._effort)
        return True
