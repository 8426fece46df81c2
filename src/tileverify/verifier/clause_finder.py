"""Clauses that close one obligation: candidates put to a solver, the fewest that will do, worded for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.summary import GRID
from ..frontend.symbolic.terms import Kind, Term
from .clause_search import Closes, search
from .clauses import Clause, index_space_clauses, launch_clause, launch_only, spoken
from .contract import Contract, list_length
from .data import loaded_values
from .meeting import Prepared
from .narrowing import offers
from .obligations import Obligation, reached
from .plain import plain
from .prepare import contract_values, launch_facts
from .projection import conjuncts
from .smt import Answer, Decider, Limits
from .widening import Level, holds, mined

CLAUSE_LIMITS = Limits(linear=150_000, nonlinear=150_000, rounds=12, total=200_000)
"""For the search of clauses: what does not help soon is not the natural one."""

WORDING_LIMITS = Limits(linear=20_000, nonlinear=20_000, rounds=6, total=30_000)
"""For the wording of clauses: whether a part follows from the rest, or the whole from the other clauses."""

SEARCH_TOTAL = 3_000_000
"""Resource units after which no further clauses are looked for."""

FOR_DATA = 3
"""Groups of clauses that are tried where the contents of arrays matter, and mostly a fact about them is missing."""


@dataclass
class ClauseFinder:
    """Finds clauses with ``decider``, which knows what every launch satisfies and is told what was adopted.

    ``out_of_time``: whether the user's time limit has passed.
    """

    decider: Decider
    contract: Contract
    sites: Mapping[int, Prepared]
    out_of_time: Callable[[], bool]
    _several: tuple[Term, ...] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        # A solver of its own: how clauses are worded must not change what is found.
        self._editor = Decider(self.decider.facts, WORDING_LIMITS, self.decider.deadline)

    def adopt(self, clauses: Iterable[Clause]) -> None:
        """What the contract says from now on."""
        self._editor.assume([clause.condition for clause in clauses])

    def exhausted(self) -> bool:
        return self.out_of_time() or self.decider.spent > SEARCH_TOTAL

    # ------------------------------------------------------------------------------------------- narrowing
    def narrowing(self, obligation: Obligation, conditions: Sequence[Term]) -> list[Clause]:
        """Clauses that keep ``conditions`` from holding together and leave launches, of more than one block, in which
        the kernel does its work; none if none were found."""
        closes = self._closes(obligation, conditions)
        # The obligation itself, where it speaks of the launch alone and some launches keep it.
        for clause in launch_clause(obligation, tuple(conditions)):
            if self._possible([clause.condition, *self._two_blocks()]):
                return self._worded([clause.condition], closes)
        if not any(self._quantities()):
            return []
        # A flag that keeps the kernel from an access is a clause like any other; a loop without iterations is not.
        access = conjuncts(reached(obligation, self.sites, self.contract))
        work = [*(part for part in access if not launch_only(part)), *self._two_blocks()]
        groups: Iterator[list[Term]] = offers(
            obligation, conditions, self.decider.facts, self.contract, self._lane_counts()
        )
        chosen = search(
            islice(groups, FOR_DATA) if loaded_values(conditions) else groups,
            admitted=lambda offered, group: self._admitted(work, offered, group),
            closes=closes,
            accepted=lambda chosen: bool(self._worded(chosen, closes)),
            stop=self.exhausted,
        )
        return self._worded(chosen, closes)

    def _quantities(self) -> Iterator[Term]:
        """What a launch decides within the contract; nothing where all is numbers."""
        values = contract_values(self.contract)
        yield from (axis for axis in GRID if values.get(axis, axis).kind is not Kind.CONST)
        yield from self.contract.variables
        yield from (list_length(name) for name in self.contract.lists)

    def _admitted(self, work: Sequence[Term], offered: Sequence[Term], group: Sequence[Term]) -> list[Term]:
        """Those of ``group`` that leave launches, beside what is offered, in which the kernel does its ``work``: all
        together, or else each that can."""
        if not group or self._possible([*work, *offered, *group]):
            return list(group)
        kept: list[Term] = []
        for term in group if len(group) > 1 else ():
            if self._possible([*work, *offered, *kept, term]):
                kept.append(term)
        return kept

    def _possible(self, conditions: Sequence[Term]) -> bool:
        return self.decider.decide(conditions, limits=CLAUSE_LIMITS).answer is Answer.SATISFIABLE

    def _two_blocks(self) -> tuple[Term, ...]:
        """More than one block: a contract that excludes every such launch would be vacuous.

        Nothing where the user's own contract has no such launch.
        """
        if self._several is None:
            values = contract_values(self.contract)
            two = t.or_(*(t.lt(t.ONE, values.get(axis, axis)) for axis in GRID))
            self._several = (two,) if self._possible([two]) else ()
        return self._several

    # -------------------------------------------------------------------------------------------- widening
    def widening(self, obligation: Obligation, conditions: Sequence[Term], level: Level) -> list[Clause]:
        """Clauses that keep ``conditions`` from holding together and that the level's own launch keeps."""
        closes = self._closes(obligation, conditions)
        own = [clause.condition for clause in launch_clause(obligation, tuple(conditions))]
        own += [clause.condition for clause in index_space_clauses(obligation)]
        chosen = search(
            [own, *mined(level, self._lane_counts(), conditions)],
            admitted=lambda offered, group: [term for term in group if holds(term, level.own)],
            closes=closes,
            accepted=lambda chosen: True,
            stop=self.exhausted,
        )
        return self._worded(chosen, closes, multiply=False)

    # -------------------------------------------------------------------------------------------- both
    def _closes(self, obligation: Obligation, conditions: Sequence[Term]) -> Closes:
        def closes(clauses: Sequence[Term]) -> bool:
            found = self.decider.decide([*conditions, *clauses], twins=obligation.twins, limits=CLAUSE_LIMITS)
            return found.answer is Answer.UNSATISFIABLE

        return closes

    def _lane_counts(self) -> set[int]:
        """Tile sizes that the kernel works with."""
        sites = [prepared.site for prepared in self.sites.values()]
        tiles = {size for site in sites for size in getattr(site.footprint, "tile", ())}
        return tiles | {lane.size for site in sites for lane in site.lanes}

    def _worded(self, chosen: Sequence[Term], closes: Closes, *, multiply: bool = True) -> list[Clause]:
        """The clauses as people write them, or as they are where that is harder to prove from; none if one of them
        cannot be said."""
        for wording in ([plain(term, self._implies, multiply=multiply) for term in chosen], chosen):
            clauses = [list(spoken(term)) for term in wording if term is not t.TRUE]
            if all(clauses) and (wording is chosen or closes(wording)):
                return [clause for each in clauses for clause in each]
        return []

    def _implies(self, given: Sequence[Term], conclusion: Term) -> bool:
        return self._editor.decide([*given, t.not_(conclusion)]).answer is Answer.UNSATISFIABLE

    def without_implied(self, clauses: Sequence[Clause]) -> list[Clause]:
        """The clauses but for those that say nothing beside later ones: what was found last is the most special."""
        alone = Decider(launch_facts(self.contract), WORDING_LIMITS, self.decider.deadline)
        kept: list[Clause] = []
        for clause in reversed(clauses):
            if alone.decide([t.not_(clause.condition)]).answer is not Answer.UNSATISFIABLE:
                kept.append(clause)
                alone.assume([clause.condition])
        return kept[::-1]
