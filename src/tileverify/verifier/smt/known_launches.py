"""Launches at hand: values that satisfy the facts, and so answer some questions without a solver.

A question that one of them satisfies is satisfiable; that none does says nothing.  Nothing is proved from this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from ...contract.terms import Function, Scope, Sort, Symbol, Term, TermKind
from ...contract.terms.evaluate import Value, evaluate

Call: TypeAlias = tuple[Function, tuple[Value, ...]]

SIZES: Final = (1, 128, 4096, 2**31 - 1)

MOST_LEARNED: Final = 8
"""Launches kept that answered earlier questions."""


class Examples:
    """Round numbers and the largest ones, as far as they satisfy all ``facts``, and launches that were learned."""

    def __init__(self, facts: Iterable[Term]) -> None:
        self._examples: list[_Example] | None = None  # made when the first question comes
        self._learned: list[_Example] = []  # the latest first
        self._facts = list(facts)
        self._checked = 0  # so many facts are satisfied by all examples

    def copy(self) -> Examples:
        """The same, for further facts of their own."""
        other = Examples(self._facts)
        other._examples = None if self._examples is None else list(self._examples)
        other._learned, other._checked = list(self._learned), self._checked
        return other

    def assume(self, facts: Iterable[Term]) -> None:
        """Keep those that satisfy ``facts`` too."""
        self._facts += facts

    def satisfy(self, conditions: Iterable[Term]) -> bool:
        """Whether one of them satisfies all ``conditions``."""
        conditions = tuple(conditions)
        if self._examples is None:
            self._examples = [_Example(size, block) for size in SIZES for block in (0, size - 1)]
        if self._checked < len(self._facts):
            facts, self._checked = self._facts[self._checked :], len(self._facts)
            self._examples = [example for example in self._examples if example.satisfies(facts)]
            self._learned = [example for example in self._learned if example.satisfies(facts)]
        return any(example.satisfies(conditions) for example in (*self._learned, *self._examples))

    def learn(self, numbers: NumbersAtHand, conditions: Iterable[Term]) -> bool:
        """Whether these numbers satisfy the facts and ``conditions``; then they are at hand from now on."""
        example = _Example(0, 0, numbers)
        learned = example.satisfies(conditions) and example.satisfies(self._facts)
        if learned:
            example.numbers = None
            self._learned = [example, *self._learned[: MOST_LEARNED - 1]]
        return learned


class NumbersAtHand(Protocol):
    """Values of some variables, and results of functions for some arguments."""

    def variable(self, variable: Term, /) -> Value | None: ...

    def results(self) -> Mapping[Call, Value]: ...


@dataclass(slots=True)
class _Example:
    """Of what ``numbers`` do not give, every size and scalar is ``size``, every number of a block ``block``, all else
    is as small as it can be."""

    size: int
    block: int
    numbers: NumbersAtHand | None = None
    _variables: dict[Term, Value] = field(default_factory=dict)
    _results: Mapping[Call, Value] | None = None
    _known: dict[Term, Value] = field(default_factory=dict)

    def satisfies(self, conditions: Iterable[Term]) -> bool:
        try:
            for condition in conditions:
                # One part after the other: most launches break one of the first, and the rest need not be worked out.
                for part in condition.args if condition.kind is TermKind.AND else (condition,):
                    known = self._known.get(part)
                    if not (evaluate(part, self, self._result, self._known) if known is None else known):
                        return False
        except ZeroDivisionError:
            return False
        return True

    def __getitem__(self, variable: Term) -> Value:
        known = self._variables.get(variable)
        if known is None and self.numbers is not None:
            known = self.numbers.variable(variable)
        if known is None:
            known = self._within(variable.symbol)
        self._variables[variable] = known
        return known

    def _result(self, function: Function, arguments: tuple[Value, ...]) -> Value:
        """Functions are constant where they have no results of their own."""
        if self._results is None:
            self._results = {} if self.numbers is None else self.numbers.results()
        known = self._results.get((function, arguments))
        return self._within(function) if known is None else known

    def _within(self, symbol: Symbol | Function) -> Value:
        if symbol.sort is Sort.BOOL:
            return False
        wanted = 0
        if isinstance(symbol, Symbol):
            wanted = {Scope.LAUNCH: self.size, Scope.BLOCK: self.block}.get(symbol.scope, 0)
        at_least = wanted if symbol.low is None else max(symbol.low, wanted)
        return at_least if symbol.high is None else min(symbol.high, at_least)
