"""The user's own contract narrowed: clauses that close what is open, minimal, as people write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.summary import GRID
from ..frontend.symbolic.terms import Kind, Term
from .clause_search import search
from .clauses import Clause, launch_clause, launch_only
from .contract import list_length
from .data import data_facts, loaded_values
from .implied import related
from .narrowing import offers
from .obligations import reached
from .prepare import contract_values
from .projection import conjuncts
from .proving import CLAUSE_LIMITS, Open, Proving
from .smt import Answer

FOR_DATA = 3
"""Groups of clauses that are tried where the contents of arrays matter, and mostly a fact about them is missing."""


@dataclass
class NarrowProof(Proving):
    _several: tuple[Term, ...] | None = None

    def _narrow(self, left: list[Open]) -> list[Open]:
        """What is open although clauses about launch-known quantities were looked for that close it.

        Sound because each obligation is proved again under the clauses that are adopted.
        """
        self._finder = self._aside(self.session)
        still: list[tuple[Open, int]] = []
        for opened in left:
            if self._narrowed(opened):
                self.proved.add(opened.obligation.code)
            else:
                still.append((opened, len(self.clauses)))
        # A clause that came later may close what came before.
        again = [self._reopened(opened, self.clauses[known:]) for opened, known in still]
        closed = {opened.obligation.code for (opened, _), reopened in zip(still, again, strict=True) if not reopened}
        self.proved |= closed
        self._drop_implied({})
        return [reopened for reopened in again if reopened is not None]

    def _narrowed(self, opened: Open) -> bool:
        obligation = opened.obligation
        if obligation.blocked is not None:
            return False
        if self._reopened(opened, self.clauses) is None:
            return True
        found = self._own_clause(opened) or (self._found(opened) if any(self._quantities()) else [])
        self._adopt(found)
        return bool(found) and self._decide_one(obligation) is None

    def _reopened(self, opened: Open, clauses: Sequence[Clause]) -> Open | None:
        """What is left of ``opened`` under these clauses; one that shares no variable with it decides nothing."""
        return self._decide_one(opened.obligation) if related(clauses, opened.conditions, self._facts) else opened

    def _own_clause(self, opened: Open) -> list[Clause]:
        """The obligation itself, where it speaks of the launch alone and some launches keep it."""
        for clause in launch_clause(opened.obligation, opened.conditions):
            if self._possible([clause.condition, *self._two_blocks()]):
                with self._question(opened) as closes:
                    return self._worded([clause.condition], closes)
        return []

    def _found(self, opened: Open) -> list[Clause]:
        """Clauses that keep the question from holding and leave launches, of more than one block, in which the kernel
        does its work; none if none were found."""
        # A flag that keeps the kernel from an access is a clause like any other; a loop without iterations is not.
        access = conjuncts(reached(opened.obligation, self._by_number, self.contract))
        work = [*(part for part in access if not launch_only(part)), *self._two_blocks()]
        work += data_facts(work, self.contract, self._origins)
        groups: Iterator[list[Term]] = offers(
            opened.obligation, opened.conditions, self._decider.facts, self.contract, self._lane_counts()
        )
        with self._question(opened) as closes:
            chosen = search(
                islice(groups, FOR_DATA) if loaded_values(opened.conditions) else groups,
                admitted=lambda offered, group: self._admitted(work, offered, group),
                closes=closes,
                accepted=lambda chosen: bool(self._worded(chosen, closes)),
                stop=self._exhausted,
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
        return self._finder.decide(conditions, limits=CLAUSE_LIMITS).answer is Answer.SATISFIABLE

    def _two_blocks(self) -> tuple[Term, ...]:
        """More than one block: a contract that excludes every such launch would be vacuous.

        Nothing where the user's own contract has no such launch.
        """
        if self._several is None:
            values = contract_values(self.contract)
            two = t.or_(*(t.lt(t.ONE, values.get(axis, axis)) for axis in GRID))
            self._several = (two,) if self._possible([two]) else ()
        return self._several
