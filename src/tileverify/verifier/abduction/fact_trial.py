"""Suggested data facts: assumed on trial, and reported only if they close open obligations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ...contract.as_terms import build_contract
from ...contract.facts.statements import DataTerm
from ...contract.launch import DataFact, LaunchSpec
from ...contract.terms import Term
from ..attempt import Closed
from ..budgets import FEWER_FACTS, TRIAL_LEAST, TRIAL_LIMITS, TRIAL_TOTAL
from ..obligations.answers import Answer
from ..obligations.fact_use import data_facts
from ..obligations.obligations import Obligation
from ..prover import Prover
from .nonvacuity import Nonvacuity

Key: TypeAlias = tuple[str, tuple[int, ...]]


def key_of(obligation: Obligation) -> Key:
    """The obligation's code and its offsets in the bytecode."""
    items = (obligation.first, obligation.second, obligation.promise)
    return obligation.code, tuple(item.offset for item in items if item is not None)


def with_terms(groups: Iterable[Sequence[DataFact]], launch: LaunchSpec) -> list[list[DataTerm]]:
    """The facts with their numbers as terms of the launch's contract."""
    made = []
    for group in groups:
        contract = build_contract(replace(launch, data=(*launch.data, *group)))
        made.append(list(contract.data[len(launch.data) :]))
    return made


@dataclass
class FactTrial:
    """``look``: the proof, under the same contract, that left obligations open.

    ``needed``: the facts that closed each obligation; without the obligations that stayed open.
    """

    prover: Prover
    look: Prover
    needed: dict[Key, tuple[DataFact, ...]] = field(default_factory=dict)

    def run(self, wanted: Collection[Key]) -> tuple[DataFact, ...]:
        """Try to close the ``wanted`` obligations; return all facts that the closed ones need.

        Facts that only keep machine integers from wrapping come last.
        """
        self.prover.prepare_like(self.look, replace(self.prover.use, choose=None))
        left = self._close(set(wanted))
        if left and self.prover.attempt.offered:
            self.prover.prepare_again({offset for _, places in left for offset in places})
            self._close(left)
        return tuple(dict.fromkeys(fact for facts in self.needed.values() for fact in facts))

    def _close(self, wanted: Collection[Key]) -> set[Key]:
        """The obligations among ``wanted`` that stay open."""
        left: set[Key] = set()
        for obligation in self.prover.kernel.obligations():
            key = key_of(obligation)
            if key in wanted and key not in left and not self._closed(obligation, key):
                left.add(key)
                self.needed.pop(key, None)
        return left

    def _closed(self, obligation: Obligation, key: Key) -> bool:
        """Whether facts close the obligation; notes the needed ones."""
        if obligation.blocked is not None or self.prover.at_its_end():
            return False
        with self.prover.effort.about(obligation):
            return self._closed_by_facts(obligation, key)

    def _closed_by_facts(self, obligation: Obligation, key: Key) -> bool:
        conditions = (
            *obligation.conditions,
            *data_facts(obligation.conditions, self.prover.contract, self.prover.kernel.origins),
        )
        use = self.prover.use
        few: Sequence[DataTerm] | None = None
        before = use.taken
        if not self._is_over():
            with self.prover.decider.within(TRIAL_LIMITS):
                few = use.take_up(conditions, self.prover.kernel.origins, self._closing(conditions, obligation))
        if few is None and not self._is_over() and isinstance(self.prover.prove(obligation), Closed):
            few = ()
        if few is None or (few and not Nonvacuity(self.prover).is_reached(obligation)):
            use.forget_all_but(before)
            return False
        self.needed[key] = tuple(dict.fromkeys((*self.needed.get(key, ()), *(data.fact for data in few))))
        return True

    def _closing(self, conditions: Sequence[Term], obligation: Obligation) -> Callable[[Sequence[Term]], bool]:
        """A test whether more facts close the obligation.  After a success, a much slower check counts as a no."""
        done = False

        def closes(more: Sequence[Term]) -> bool:
            nonlocal done
            if self._is_over():
                return False
            start = self.prover.decider.spent
            answer = self.prover.decider.decide([*conditions, *more], twins=obligation.twins).answer
            closed = answer is Answer.UNSATISFIABLE
            if closed and not done:
                done = True
                spent = max(TRIAL_LEAST, FEWER_FACTS * (self.prover.decider.spent - start))
                self.prover.decider.limit(replace(TRIAL_LIMITS, linear=spent, total=spent))
            return closed

        return closes

    def _is_over(self) -> bool:
        return self.prover.at_its_end() or self.prover.decider.spent > TRIAL_TOTAL
