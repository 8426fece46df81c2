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
    width: Term | None = None

    def map(self, change: Callable[[Term], Term]) -> DataTerm:
        """The fact with every number changed."""
        parts = (self.low, self.high, self.amount, self.width)
        low, high, amount, width = (None if part is None else change(part) for part in parts)
        return DataTerm(self.fact, low, high, amount, tuple(map(change, self.unless)), width)


@dataclass(frozen=True, slots=True)
class NumberedFact:
    """A data fact in one launch; ``other`` are the lengths of segments, or the keys that are ranked or counted."""

    kind: FactKind
    array: str
    other: str | None = None
    low: int | None = None
    high: int | None = None
    amount: int | None = None
    unless: frozenset[int] = frozenset()
    width: int | None = None

    @classmethod
    def of(cls, data: DataTerm, number: Callable[[Term], int]) -> NumberedFact:
        """``number`` gives the terms in the fact their values."""
        parts = (data.low, data.high, data.amount, data.width)
        low, high, amount, width = (None if part is None else number(part) for part in parts)
        unless = frozenset(map(number, data.unless))
        return cls(data.fact.kind, data.fact.array, data.fact.other, low, high, amount, unless, width)

    @classmethod
    def evaluated(cls, fact: DataFact, number: Callable[[Expression], int]) -> NumberedFact:
        """``number`` gives the expressions in the fact their values."""
        parts = (fact.low, fact.high, fact.amount, fact.width)
        low, high, amount, width = (None if part is None else number(part) for part in parts)
        return cls(fact.kind, fact.array, fact.other, low, high, amount, frozenset(map(number, fact.unless)), width)

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
