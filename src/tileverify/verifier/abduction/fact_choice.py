"""A minimal choice of data facts under which a kernel is proved: recorded ones, and suggestions on trial."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from ...contract.as_terms import build_contract
from ...contract.contract import Contract
from ...contract.data_facts import print_data_fact
from ...contract.facts.form import DISTINCT, Subject
from ...contract.facts.kinds import subject_of
from ...contract.facts.statements import DataTerm
from ...contract.facts.weaker import is_within, strongest
from ...contract.launch import DataFact, LaunchSpec
from ...contract.terms import Term
from ..attempt import Closed, Open
from ..budgets import (
    CHOICE_FIT_LIMITS,
    CHOICE_LEAST,
    CHOICE_LIMITS,
    EVERY_LIMITS,
    FEWER_FACTS,
    MORE_LIMITS,
    MOST_EACH,
    NATURAL_LIMITS,
    TRIAL_LEAST,
    TRIAL_LIMITS,
    TRIAL_TOTAL,
)
from ..obligations.answers import Answer
from ..obligations.fact_use import data_facts, loaded_values, of_one_number
from ..obligations.obligations import Obligation, every_obligation
from ..prover import Prover
from ..smt import WithBudget
from .abduce import fewest
from .clauses import launch_clause
from .nonvacuity import Nonvacuity

MOST_TRIED: Final = 40
"""The most sets of facts to try."""

MORE_FACTS: Final = 4
"""If the offered facts do not suffice, offer so many times as many.  The needed facts are mostly among the first ones,
and a small offer is minimised sooner."""


@dataclass
class FactChoice:
    """Chooses among facts that all hold in one launch, so that no set of them is contradictory.

    Machine integers may fit only under some facts: accesses with such integers are prepared again for every set.
    Obligations without data are left to clauses.  The proof under the chosen facts searches these clauses again:
    without facts, the solver may not see whether clauses leave the kernel any work.

    ``look``: the proof, under the same contract, that left the wanted obligations open.
    """

    prover: Prover
    look: Prover
    _own: Contract = field(init=False)
    _terms: dict[DataFact, DataTerm] = field(init=False)
    _doubted: set[int] = field(init=False)  # offsets of accesses that facts may change
    _numbers: tuple[DataTerm, ...] = field(init=False)  # facts under which the others were prepared
    _tried: int = 0
    _effort: int | None = None
    _given_up: Key | None = None  # the obligation without an answer under the facts tried last
    _spent: int = 0  # units for the facts tried last

    def choose(self, groups: Sequence[Sequence[DataFact]], wanted: Collection[Key]) -> tuple[DataFact, ...]:
        """A minimal choice of facts that closes the ``wanted`` obligations, earlier facts first; empty if none does.

        It tries natural facts first: the weakest of each kind for each array, at first without facts that make values
        distinct.  If nothing suffices and the solver gave up, it asks again with more resources.
        """
        self._own = self.prover.contract
        self.prover.prepare_like(self.look)
        self._numbers = of_one_number(self._own.data)
        self._doubted = {item.offset for item, _ in self.prover.kernel.doubts()}
        self._adopt_own_clauses(wanted)
        every = [fact for group in groups for fact in group]
        (terms,) = with_terms([every], self.prover.launch)
        self._terms = dict(zip(every, terms, strict=True))
        natural = list({_spoken_of(fact): fact for fact in reversed(every)}.values())[::-1]
        ordered = {fact.array for fact in every if subject_of(fact) is Subject.ORDER}
        # Nondecreasing arrays are offsets: a bound on their sum means nothing.
        plain = [
            fact
            for fact in natural
            if subject_of(fact) not in (*DISTINCT, Subject.LINES, Subject.STEPS)
            and not (subject_of(fact) is Subject.SUM and fact.array in ordered)
        ]

        known: dict[tuple[DataTerm, ...], bool] = {}  # by the strongest facts: only these are assumed

        def closes(facts: Sequence[DataFact]) -> bool:
            assumed = self._assumed(facts)
            if assumed not in known:
                known[assumed] = self._close(facts, wanted)
            return known[assumed]

        hard, patient = None, False
        offers = [(plain, NATURAL_LIMITS), (natural, NATURAL_LIMITS)]
        offers += [(every[:count], EVERY_LIMITS) for count in _growing(MORE_FACTS * len(natural), len(every))]
        for offered, limits in offers:
            if not offered or (limits is NATURAL_LIMITS and patient):
                continue
            self.prover.limit(limits)
            if self._close(offered, wanted, hard):
                return tuple(fewest(offered, closes))
            # An obligation without an answer under a few facts and large limits gets no easier under more facts.
            hard = self._given_up
            patient = patient or (hard is not None and limits is NATURAL_LIMITS)
        if hard is not None and not patient:
            self.prover.limit(MORE_LIMITS)
            if self._close(every, wanted, hard, self._spent):
                return tuple(fewest(every, closes))
        return ()

    def _adopt_own_clauses(self, wanted: Collection[Key]) -> None:
        """Adopt obligations on launch parameters alone as clauses; the other obligations are asked under them."""
        for obligation in every_obligation(self.prover.kernel.sites, self.prover.kernel.promises, self.prover.contract):
            if key_of(obligation) in wanted and not loaded_values(obligation.conditions):
                answer = self.prover.prove(obligation)
                if isinstance(answer, Open) and _is_for_clauses(answer):
                    self.prover.adopt(launch_clause(obligation, answer.conditions, self.prover.use))

    def _assumed(self, facts: Iterable[DataFact]) -> tuple[DataTerm, ...]:
        return tuple(strongest(self._terms[fact] for fact in facts))

    def _close(
        self, facts: Sequence[DataFact], wanted: Collection[Key], hard: Key | None = None, spent: int = 0
    ) -> bool:
        """Whether the facts close the ``wanted`` obligations; asks ``hard`` first, which most likely stays open.

        ``spent``: units of an earlier try whose answers are reused; they count as spent on this one.
        """
        self._tried += 1
        self._given_up, self._spent = None, spent
        if self._tried > MOST_TRIED or self.prover.at_its_end():
            return False
        start = self.prover.solver.spent - spent
        contract = replace(self._own, data=(*self._own.data, *self._assumed(facts)))
        offsets = {offset for _, places in wanted for offset in places}
        # Facts that fix an element to one number replace it everywhere: then all places are read again.
        before, self._numbers = self._numbers, of_one_number(contract.data)
        # Preparing alone may exceed the budget: that counts as a no, too.
        enough = None if self._effort is None else start + self._effort
        self.prover = self.prover.with_facts(
            contract,
            offsets & self._doubted if self._numbers == before else offsets,
            None if enough is None else WithBudget(enough, self.prover.solver, CHOICE_FIT_LIMITS),
        )
        kernel = self.prover.kernel
        sites = [prepared for prepared in kernel.sites if prepared.site.offset in offsets]
        places = {places for _, places in wanted}
        asked: Iterable[Obligation] = every_obligation(sites, kernel.promises, contract, places)
        asked = (obligation for obligation in asked if key_of(obligation) in wanted)
        for obligation in sorted(asked, key=lambda each: key_of(each) != hard) if hard else asked:
            too_much = self._effort is not None and self.prover.solver.spent - start > self._effort
            answer = None if too_much else self.prover.prove(obligation)
            self._spent = self.prover.solver.spent - start
            if isinstance(answer, Open) and answer.unknown and obligation.blocked is None:
                self._given_up = key_of(obligation)
            if too_much or (isinstance(answer, Open) and not _is_for_clauses(answer)):
                return False
        if self._effort is None:
            self._effort = max(CHOICE_LEAST, FEWER_FACTS * self._spent)
            each = min(self._effort, MOST_EACH)
            self.prover.limit(replace(CHOICE_LIMITS, linear=each, total=each))
        return True


def _spoken_of(fact: DataFact) -> tuple[object, ...]:
    """Facts that agree in it say the same with other numbers."""
    return fact.kind, *fact.arrays, fact.amount if subject_of(fact) is Subject.COLUMN else None


def _growing(first: int, last: int) -> Iterator[int]:
    """``first``, then `MORE_FACTS` times as many each time, and ``last`` at the end."""
    while 0 < first < last:
        yield first
        first *= MORE_FACTS
    yield last


def _is_for_clauses(opened: Open) -> bool:
    """Whether only clauses can close the obligation: it mentions no data."""
    return opened.obligation.blocked is None and not loaded_values(opened.conditions)


# ----------------------------------------------------------------------------------------------------------- fact trial
# Suggested data facts: assumed on trial, and reported only if they close open obligations.


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

        Facts that only keep machine integers from wrapping come last.  A fact that another one implies is left out.
        """
        self.prover.prepare_like(self.look, replace(self.prover.use, choose=None))
        left = self._close(set(wanted))
        if left and self.prover.attempt.offered:
            self.prover.prepare_again({offset for _, places in left for offset in places})
            self._close(left)
        return self._strongest(chain(*self.needed.values()))

    def _strongest(self, facts: Iterable[DataFact]) -> tuple[DataFact, ...]:
        (terms,) = with_terms([list(dict.fromkeys(facts))], self.prover.launch)
        return tuple(map(self._without_bounds, strongest(terms)))

    def _without_bounds(self, data: DataTerm) -> DataFact:
        """The fact without the bounds that it speaks within, if the contract says that all values lie there."""
        fact, known = data.fact, self.prover.contract.data
        if subject_of(data) not in DISTINCT or not any(is_within(each, data) for each in known):
            return fact
        plain = replace(fact, low=None, high=None)
        return replace(plain, text=print_data_fact(plain))

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
            with self.prover.solver.within(TRIAL_LIMITS):
                few = use.take_up(conditions, self.prover.kernel.origins, self._closing(conditions, obligation))
        if few is None and not self._is_over() and isinstance(self.prover.prove(obligation), Closed):
            few = ()
        if few is None or (few and not Nonvacuity(self.prover).is_reached(obligation)):
            use.forget_all_but(before)
            return False
        self.needed[key] = self._strongest((*self.needed.get(key, ()), *(data.fact for data in few)))
        return True

    def _closing(self, conditions: Sequence[Term], obligation: Obligation) -> Callable[[Sequence[Term]], bool]:
        """A test whether more facts close the obligation.  After a success, a much slower check counts as a no."""
        done = False

        def closes(more: Sequence[Term]) -> bool:
            nonlocal done
            if self._is_over():
                return False
            start = self.prover.solver.spent
            answer = self.prover.solver.decide([*conditions, *more], twins=obligation.twins).answer
            closed = answer is Answer.UNSATISFIABLE
            if closed and not done:
                done = True
                spent = max(TRIAL_LEAST, FEWER_FACTS * (self.prover.solver.spent - start))
                self.prover.solver.limit(replace(TRIAL_LIMITS, linear=spent, total=spent))
            return closed

        return closes

    def _is_over(self) -> bool:
        return self.prover.at_its_end() or self.prover.solver.spent > TRIAL_TOTAL
