"""Proofs that add clauses, and see to it that the launches which those leave do the kernel's work (`work`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...contract import terms as t
from ...contract.contract import array_layout
from ...contract.terms import Term
from ..budgets import CLAUSE_LIMITS
from ..obligations.answers import Answer
from ..obligations.consistency import promises
from ..obligations.fact_instances import data_facts
from ..obligations.limits import is_address
from ..obligations.obligations import Obligation
from ..obligations.prepare import contract_values
from ..obligations.protocols import watched
from ..prover import Prover
from .work import Demand, Way, at_once, axes_of_work, demands, something, two_blocks, writing


@dataclass
class KeptWork:
    """What clauses have to leave of the work that ``prover`` is about."""

    prover: Prover
    demanded: list[list[Demand]] = field(default_factory=list)  # for every obligation that clauses were looked for
    _several: tuple[Term, ...] | None = None
    _others: dict[tuple[Demand, int], tuple[tuple[Term, ...], ...] | None] = field(default_factory=dict)

    def demands(self, obligation: Obligation) -> list[Demand]:
        """What clauses for the obligation have to leave."""
        shared = frozenset(watched(self.prover.kernel.sites))
        found = demands(
            obligation,
            self.prover.kernel.by_number,
            self.prover.contract,
            self.prover.summary.read_axes,
            shared,
        )
        return self._informed(obligation, found)

    def _informed(self, obligation: Obligation, found: Iterable[Demand]) -> list[Demand]:
        """Demands with what is known of contents, and of what blocks hand to each other."""
        shared = watched(self.prover.kernel.sites)

        def informed(way: Way) -> Way:
            conditions = way.conditions
            if shared:
                question = replace(obligation, conditions=conditions, grounds=())
                conditions = self.prover.kernel.protocols.with_values(question).conditions
            facts = data_facts(conditions, self.prover.contract, self.prover.kernel.origins)
            return replace(way, conditions=(*conditions, *facts))

        return [Demand(informed(demand.first), tuple(map(informed, demand.others))) for demand in found]

    def leaves(self, wanted: Sequence[Demand], offered: Sequence[Term]) -> bool:
        """Whether what is wanted for one obligation is done in launches with the clauses on offer, but for what no
        launch can do, whatever clauses are offered."""
        return all(self._is_kept(demand, offered) or self._is_pointless(demand) for demand in wanted)

    def _is_kept(self, demand: Demand, offered: Sequence[Term]) -> bool:
        """Whether a launch with the clauses on offer does what is demanded."""
        if self.possible([*demand.first.conditions, *offered]):
            return True
        return any(self.possible([*way, *offered]) for way in self._instead(demand) or ())

    def _is_pointless(self, demand: Demand) -> bool:
        return self._instead(demand) == ()

    def _instead(self, demand: Demand) -> tuple[tuple[Term, ...], ...] | None:
        """How else it can be done where no launch does it the first way; ``None`` if one may."""
        key = demand, len(self.prover.clauses)
        if key not in self._others:
            first, others = _done(demand.first), map(_done, demand.others)
            impossible = self._asked(first) is Answer.UNSATISFIABLE
            self._others[key] = tuple(filter(self.possible, others)) if impossible else None
        return self._others[key]

    def leaves_launches(self, chosen: Sequence[Term]) -> bool:
        """Whether the contract has a small launch with these clauses, of more than one block if it has such."""
        return self.possible([*chosen, *self.two_blocks(), *self.prover.parts.small])

    def leaves_all_at_once(self, obligation: Obligation, chosen: Sequence[Term]) -> bool:
        """Whether a small launch with these clauses has two blocks at work along every axis that is read, and several
        elements in every array that may have them."""
        demand = at_once(
            self.prover.kernel.by_number,
            obligation,
            axes_of_work(self.prover.summary.read_axes),
            self.prover.contract,
        )
        small = (*self.prover.parts.small, *self._filled)
        if demand is None:
            return self.possible([*chosen, *small])
        (demand,) = self._informed(obligation, [demand])
        answer = self._asked([*demand.first.conditions, *chosen, *small])
        if answer is Answer.UNKNOWN and all(map(is_address, frozenset().union(*(term.free for term in chosen)))):
            return True  # where arrays lie takes no block from its work
        return answer is Answer.SATISFIABLE or self._asked((*_done(demand.first), *small)) is Answer.UNSATISFIABLE

    @cached_property
    def _filled(self) -> tuple[Term, ...]:
        """Arrays have several elements, those that may."""
        values, filled = contract_values(self.prover.contract), list[Term]()
        for array in self.prover.contract.arrays.values():
            elements = t.substitute(t.product(array_layout(array)[0]), values)
            several = t.lt(t.ONE, elements)
            if elements.free and self.possible([*filled, several, *self.prover.parts.small]):
                filled.append(several)
        return tuple(filled)

    def leaves_others(self, obligation: Obligation, chosen: Sequence[Term]) -> bool:
        """Whether what other obligations are about is still done, and blocks along every axis that is read still write,
        by whatever access."""
        if not all(self.leaves(wanted, chosen) for wanted in self.demanded):
            return False
        writes = False
        for axis in axes_of_work(self.prover.summary.read_axes):
            wanted = self._informed(
                obligation, writing(self.prover.kernel.by_number, obligation, axis, self.prover.contract)
            )
            if any(self._is_kept(demand, chosen) for demand in wanted):
                writes = True
            elif not all(map(self._is_pointless, wanted)):
                return False
        return (writes or self.leaves_something(obligation, chosen)) and self.leaves_all_at_once(obligation, chosen)

    def leaves_something(self, obligation: Obligation, chosen: Sequence[Term]) -> bool:
        """Whether a block still gets to a write, be it one that is always at fault."""
        return self.leaves(self._informed(obligation, something(self.prover.kernel.by_number)), chosen)

    def possible(self, conditions: Sequence[Term]) -> bool:
        return self._asked(conditions) is Answer.SATISFIABLE

    def _asked(self, conditions: Sequence[Term]) -> Answer:
        """Of launches that can be made: not all that keep a contract's clauses have contents that keep its facts."""
        return self.prover.searcher.decide([*conditions, *self._promised], limits=CLAUSE_LIMITS).answer

    @cached_property
    def _promised(self) -> tuple[Term, ...]:
        return promises(self.prover.contract)

    def two_blocks(self) -> tuple[Term, ...]:
        """More than one block: a contract that excludes every such launch would be vacuous.

        Nothing where the user's own contract has no such launch.
        """
        if self._several is None:
            two = two_blocks(self.prover.contract, axes_of_work(self.prover.summary.read_axes))
            self._several = two if self.possible(two) else ()
        return self._several


def _done(way: Way) -> tuple[Term, ...]:
    """What is demanded is done so, and not in vain."""
    return (*way.conditions, t.not_(way.unless))
