"""Facts on index data where questions need them: those of the contract always, others only if nothing else helps.

Facts that somebody else offers (what a recording saw, what would decide an open question) are *taken up* in groups, and
as few of them as will do; what was taken up once counts for all later questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ...contract.as_terms import Contract
from ...contract.facts.form import Subject
from ...contract.facts.kinds import subject_of
from ...contract.facts.statements import DataTerm
from ...contract.facts.strongest import strongest
from ...contract.terms import Term
from ...frontend.symbolic.summary import Origin
from .answers import Answer, Decides, Result
from .clause_search import fewest
from .fact_instances import Said, instances
from .list_facts import about_lists, element_facts

Groups: TypeAlias = Sequence[Sequence[DataTerm]]


@dataclass
class FactUse:
    """``offered`` are groups of facts that may be taken up, the most usual first; ``taken`` those that were.

    ``said``: to be shared by those whose contracts differ in their facts alone.  ``clauses``: what was added to the
    contract.  What either says of the arrays of lists counts as what is said of data does.
    """

    contract: Contract
    offered: Groups = ()
    taken: list[DataTerm] = field(default_factory=list)
    said: Said = field(default_factory=dict)
    clauses: Sequence[Term] = ()
    _of_lists: tuple[Term, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._of_lists = about_lists((*self.contract.facts, *self.clauses), self.contract.lists)

    def adopt(self, clauses: Iterable[Term]) -> None:
        """More clauses are part of the contract."""
        self._of_lists = (*self._of_lists, *about_lists(clauses, self.contract.lists))

    def known(self, conditions: Iterable[Term], origins: Mapping[str, Origin]) -> tuple[Term, ...]:
        """What the contract's facts and those taken up say of the values in ``conditions``."""
        wanted, facts = tuple(conditions), (*self.contract.data, *self.taken)
        return (*instances(wanted, facts, self.contract, origins, self.said), *self.of_arrays(wanted))

    def of_arrays(self, conditions: Iterable[Term]) -> Iterator[Term]:
        """What contract and clauses say of the arrays of lists that ``conditions`` mention."""
        return element_facts(conditions, self._of_lists, self.contract)

    def take_up(
        self, conditions: Sequence[Term], origins: Mapping[str, Origin], closes: Callable[[Sequence[Term]], bool]
    ) -> list[DataTerm] | None:
        """As few facts as make ``closes`` accept their instances for ``conditions``, taken up; ``None`` if none do.

        Those that were taken up before come first, and ranges of arrays that have one only where nothing else helps.
        """
        ranged = {data.fact.array for data in self.taken if subject_of(data) is Subject.LIMITS}

        def settled(data: DataTerm) -> bool:
            return subject_of(data) is Subject.LIMITS and data.fact.array in ranged

        now = [[data for data in group if not settled(data)] for group in self.offered]
        later = [[data for data in group if settled(data)] for group in self.offered]
        said: dict[DataTerm, tuple[Term, ...]] = {}

        def closed(facts: Sequence[DataTerm]) -> bool:
            return closes([term for fact in strongest(facts) for term in said[fact]])

        tried: list[DataTerm] = []
        for group in (self.taken, *now, *later) if self.offered else ():
            fresh = [fact for fact in group if fact not in said]
            said |= {fact: tuple(instances(conditions, (fact,), self.contract, origins, self.said)) for fact in fresh}
            fresh = [fact for fact in fresh if said[fact]]
            tried += fresh
            if fresh and closed(tried):
                few = fewest(tried, closed)
                self.taken = [*self.taken, *(fact for fact in few if fact not in self.taken)]
                return few
        return None


@dataclass(frozen=True, slots=True)
class Informed:
    """Whoever answers questions, told what is known of the index data that a question mentions."""

    decider: Decides
    use: FactUse
    origins: Mapping[str, Origin]

    def decide(self, conditions: Iterable[Term], *, twins: Sequence[tuple[Term, Term]] = ()) -> Result:
        wanted = tuple(conditions)

        def asked(more: Sequence[Term]) -> Result:
            return self.decider.decide((*wanted, *self.use.known(wanted, self.origins), *more), twins=twins)

        def closes(more: Sequence[Term]) -> bool:
            return asked(more).answer is Answer.UNSATISFIABLE

        result = asked(())
        if result.answer is not Answer.UNSATISFIABLE and self.use.take_up(wanted, self.origins, closes):
            return asked(())
        return result
