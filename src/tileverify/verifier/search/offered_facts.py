"""Facts that nobody vouches for, offered to questions that need them: as few as will do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...contract.facts.form import Subject
from ...contract.facts.kinds import subject_of
from ...contract.facts.statements import DataTerm
from ...contract.facts.weaker import strongest
from ...contract.terms import Term
from ...frontend.symbolic.summary import Origin
from ..obligations.fact_instances import instances
from ..obligations.fact_use import FactUse
from .clause_search import fewest

Groups: TypeAlias = Sequence[Sequence[DataTerm]]


@dataclass(frozen=True, slots=True)
class OfferedFacts:
    """``groups``: facts that may be taken up, the most usual first."""

    groups: Groups

    def __call__(
        self,
        use: FactUse,
        conditions: Sequence[Term],
        origins: Mapping[str, Origin],
        closes: Callable[[Sequence[Term]], bool],
    ) -> Sequence[DataTerm] | None:
        """Facts that were taken up before come first, and ranges of arrays that have one only where nothing else
        helps."""
        ranged = {data.fact.array for data in use.taken if subject_of(data) is Subject.LIMITS}

        def settled(data: DataTerm) -> bool:
            return subject_of(data) is Subject.LIMITS and data.fact.array in ranged

        now = [[data for data in group if not settled(data)] for group in self.groups]
        later = [[data for data in group if settled(data)] for group in self.groups]
        said: dict[DataTerm, tuple[Term, ...]] = {}

        def closed(facts: Sequence[DataTerm]) -> bool:
            return closes([term for fact in strongest(facts) for term in said[fact]])

        tried: list[DataTerm] = []
        for group in (use.taken, *now, *later):
            fresh = [fact for fact in group if fact not in said]
            said |= {fact: tuple(instances(conditions, (fact,), use.contract, origins, use.said)) for fact in fresh}
            fresh = [fact for fact in fresh if said[fact]]
            tried += fresh
            if fresh and closed(tried):
                return fewest(tried, closed)
        return None
