"""Facts on index data that would decide what is open: taken up on trial, and only those that suffice are told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ...contract.as_terms import build_contract
from ...contract.facts.statements import DataTerm
from ...contract.launch import DataFact, LaunchSpec
from ...contract.terms import Term
from ..budgets import FEWER_FACTS, TRIAL_LEAST, TRIAL_LIMITS, TRIAL_TOTAL
from ..case import Case
from ..obligations.answers import Answer, Limits
from ..obligations.fact_instances import data_facts
from ..obligations.obligations import Obligation, reached
from ..obligations.prepare import launch_facts

Key: TypeAlias = tuple[str, tuple[int, ...]]


def key_of(obligation: Obligation) -> Key:
    """The obligation's code and where it stands in the bytecode."""
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
    """``look``: the proof that left it open, under the same contract.  ``needed``: the facts that closed what was open,
    by obligation; what stayed open is not in it."""

    case: Case
    look: Case
    needed: dict[Key, tuple[DataFact, ...]] = field(default_factory=dict)

    def run(self, wanted: Collection[Key]) -> tuple[DataFact, ...]:
        """Try to close the ``wanted`` obligations; gives all facts that were taken up for those that were closed.

        Facts that only keep machine integers from wrapping are looked for where nothing else helped.
        """
        self.case.assume((*launch_facts(self.case.contract), *(clause.condition for clause in self.case.clauses)))
        choose, self.case.use.choose = self.case.use.choose, None
        self.case.prepare_like(self.look)
        self.case.use.choose = choose
        left = self._close(set(wanted))
        if left and choose is not None:
            self.case.prepare_again({offset for _, places in left for offset in places})
            self._close(left)
        return tuple(dict.fromkeys(fact for facts in self.needed.values() for fact in facts))

    def _close(self, wanted: Collection[Key]) -> set[Key]:
        """The obligations among ``wanted`` that stay open."""
        left: set[Key] = set()
        for obligation in self.case.obligations():
            key = key_of(obligation)
            if key in wanted and key not in left and not self._closed(obligation, key):
                left.add(key)
                self.needed.pop(key, None)
        return left

    def _closed(self, obligation: Obligation, key: Key) -> bool:
        """Whether facts close the obligation; those that it needs are noted."""
        if obligation.blocked is not None or self.case.at_its_end():
            return False
        with self.case.session.effort.about(obligation):
            return self._closed_by_facts(obligation, key)

    def _closed_by_facts(self, obligation: Obligation, key: Key) -> bool:
        conditions = (
            *obligation.conditions,
            *data_facts(obligation.conditions, self.case.contract, self.case.origins),
        )
        before = self.case.use.taken
        few: Sequence[DataTerm] | None = None
        if not self._is_over():
            with self._with_effort(TRIAL_LIMITS):
                few = self.case.use.take_up(conditions, self.case.origins, self._closing(conditions, obligation))
        if few is None and not self._is_over() and self.case.decide_one(obligation) is None:
            few = []
        if few is None or (few and not self._still_reached(obligation)):
            self.case.use.taken = before
            return False
        self.needed[key] = tuple(dict.fromkeys((*self.needed.get(key, ()), *(data.fact for data in few))))
        return True

    def _closing(self, conditions: Sequence[Term], obligation: Obligation) -> Callable[[Sequence[Term]], bool]:
        """Whether more facts close the obligation.  Once some do, what takes much longer counts as a no."""
        done = False

        def closes(more: Sequence[Term]) -> bool:
            nonlocal done
            if self._is_over():
                return False
            start = self.case.decider.spent
            answer = self.case.decider.decide([*conditions, *more], twins=obligation.twins).answer
            closed = answer is Answer.UNSATISFIABLE
            if closed and not done:
                done = True
                spent = max(TRIAL_LEAST, FEWER_FACTS * (self.case.decider.spent - start))
                self.case.decider.limits = replace(TRIAL_LIMITS, linear=spent, total=spent)
            return closed

        return closes

    def _is_over(self) -> bool:
        return self.case.at_its_end() or self.case.decider.spent > TRIAL_TOTAL

    @contextmanager
    def _with_effort(self, limits: Limits) -> Iterator[None]:
        usual, self.case.decider.limits = self.case.decider.limits, limits
        try:
            yield
        finally:
            self.case.decider.limits = usual

    def _still_reached(self, obligation: Obligation) -> bool:
        """The facts leave contents with which the kernel gets there; otherwise they would say nothing."""
        work = list(reached(obligation, self.case.by_number, self.case.contract))
        work += self.case.use.known(work, self.case.origins)
        return self.case.decider.decide(work).answer is Answer.SATISFIABLE
