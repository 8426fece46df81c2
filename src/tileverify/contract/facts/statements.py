"""One data fact as the prover and as a launch of numbers have it: with terms and with integers for its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..launch import DataFact, Expression
from ..terms import Term

Value: TypeAlias = Callable[[Expression], int]
"""The number that an expression of a launch has."""


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

    @property
    def numbers(self) -> Mapping[str, Term | None]:
        """As formulas name them."""
        return {"low": self.low, "high": self.high, "n": self.amount, "width": self.width}


@dataclass(frozen=True, slots=True)
class NumberedFact:
    """A data fact in one launch."""

    kind: str
    array: str
    others: tuple[str, ...] = ()
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
        return cls(data.fact.kind, data.fact.array, data.fact.others, low, high, amount, unless, width)

    @classmethod
    def evaluated(cls, fact: DataFact, number: Callable[[Expression], int]) -> NumberedFact:
        """``number`` gives the expressions in the fact their values."""
        parts = (fact.low, fact.high, fact.amount, fact.width)
        low, high, amount, width = (None if part is None else number(part) for part in parts)
        return cls(fact.kind, fact.array, fact.others, low, high, amount, frozenset(map(number, fact.unless)), width)

    @property
    def arrays(self) -> tuple[str, ...]:
        """All that it speaks of."""
        return (self.array, *self.others)

    @property
    def numbers(self) -> Mapping[str, int | None]:
        """As formulas name them."""
        return {"low": self.low, "high": self.high, "n": self.amount, "width": self.width}
