"""One data fact as the prover and as a launch of numbers have it: with terms and with integers for its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..fact_kind import FactKind
from ..launch import DataFact, Expression
from ..terms import Term


@dataclass(frozen=True, slots=True)
class DataTerm:
    """A `DataFact` with its numbers as terms."""

    fact: DataFact
    low: Term | None = None
    high: Term | None = None
    amount: Term | None = None
    unless: tuple[Term, ...] = ()

    def map(self, change: Callable[[Term], Term]) -> DataTerm:
        """The fact with every number changed."""
        low, high, amount = (None if part is None else change(part) for part in (self.low, self.high, self.amount))
        return DataTerm(self.fact, low, high, amount, tuple(map(change, self.unless)))


@dataclass(frozen=True, slots=True)
class NumberedFact:
    """A data fact in one launch; ``other`` are the lengths of segments."""

    kind: FactKind
    array: str
    other: str | None = None
    low: int | None = None
    high: int | None = None
    amount: int | None = None
    unless: frozenset[int] = frozenset()

    @classmethod
    def of(cls, data: DataTerm, number: Callable[[Term], int]) -> NumberedFact:
        """``number`` gives the terms in the fact their values."""
        low, high, amount = (None if part is None else number(part) for part in (data.low, data.high, data.amount))
        return cls(
            data.fact.kind, data.fact.array, data.fact.other, low, high, amount, frozenset(map(number, data.unless))
        )

    @classmethod
    def evaluated(cls, fact: DataFact, number: Callable[[Expression], int]) -> NumberedFact:
        """``number`` gives the expressions in the fact their values."""
        low, high, amount = (None if part is None else number(part) for part in (fact.low, fact.high, fact.amount))
        return cls(fact.kind, fact.array, fact.other, low, high, amount, frozenset(map(number, fact.unless)))

    def within(self, value: int) -> bool:
        """Whether the value lies in the fact's range, where it has one."""
        return (self.low is None or self.low <= value) and (self.high is None or value < self.high)

    def means(self, value: int) -> bool:
        """Whether a fact on values that do not repeat speaks of this one."""
        return value not in self.unless and self.within(value)

    def lies_in(self, outer: NumberedFact) -> bool:
        """Whether its bounds lie in those of ``outer``; no bounds are the widest."""
        if outer.low is None or outer.high is None:
            return True
        return self.low is not None and self.high is not None and outer.low <= self.low and self.high <= outer.high
