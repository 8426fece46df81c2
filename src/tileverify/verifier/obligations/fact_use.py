"""Data facts for questions: the contract's always, offered ones only if nothing else helps.

Offered facts come from a recording, or are suggestions for an open question.  A search decides which of them a question
*takes up*; a fact that was taken up counts for all later questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...contract.contract import Contract
from ...contract.facts.statements import DataTerm
from ...contract.terms import Term
from ...frontend.symbolic.summary import Origin
from .answers import Answer, Decides, Result
from .fact_instances import Said, instances
from .list_facts import about_lists, element_facts


class ChooseFacts(Protocol):
    """A search among offered facts."""

    def __call__(
        self,
        use: FactUse,
        conditions: Sequence[Term],
        origins: Mapping[str, Origin],
        closes: Callable[[Sequence[Term]], bool],
    ) -> Sequence[DataTerm] | None:
        """Facts whose instances for ``conditions`` make ``closes`` true; ``None`` if none do."""


@dataclass
class FactUse:
    """``choose``: finds the offered facts that a question needs.  ``taken``: the facts found so far.

    ``said``: a cache of instances, shared between contracts that differ only in their data facts.
    ``clauses``: added to the contract.  Contract and clauses also give facts on the arrays of lists.
    """

    contract: Contract
    choose: ChooseFacts | None = None
    taken: list[DataTerm] = field(default_factory=list)
    said: Said = field(default_factory=dict)
    clauses: Sequence[Term] = ()
    _of_lists: tuple[Term, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._of_lists = about_lists((*self.contract.facts, *self.clauses), self.contract.lists)

    def adopt(self, clauses: Iterable[Term]) -> None:
        """Add clauses to the contract."""
        self._of_lists = (*self._of_lists, *about_lists(clauses, self.contract.lists))

    def forget_all_but(self, taken: list[DataTerm]) -> None:
        """Reset ``taken``: forget facts that were taken up in vain."""
        self.taken = taken

    def known(self, conditions: Iterable[Term], origins: Mapping[str, Origin]) -> tuple[Term, ...]:
        """The instances, for values in ``conditions``, of the contract's facts and of those taken up."""
        wanted, facts = tuple(conditions), (*self.contract.data, *self.taken)
        return (*instances(wanted, facts, self.contract, origins, self.said), *self.of_arrays(wanted))

    def of_arrays(self, conditions: Iterable[Term]) -> Iterator[Term]:
        """The facts of contract and clauses on list arrays that ``conditions`` mention."""
        return element_facts(conditions, self._of_lists, self.contract)

    def take_up(
        self, conditions: Sequence[Term], origins: Mapping[str, Origin], closes: Callable[[Sequence[Term]], bool]
    ) -> Sequence[DataTerm] | None:
        """Facts whose instances for ``conditions`` make ``closes`` true, taken up; ``None`` if none do."""
        found = None if self.choose is None else self.choose(self, conditions, origins, closes)
        self.taken = [*self.taken, *(fact for fact in found or () if fact not in self.taken)]
        return found


@dataclass(frozen=True, slots=True)
class Informed:
    """A decider that adds the known data facts to each question."""

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
