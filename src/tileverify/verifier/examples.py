"""Launches at hand: values that satisfy the facts, and so answer some questions without a solver.

A question that one of them satisfies is satisfiable; that none does says nothing.  Nothing is proved from this.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ..frontend.symbolic.terms import Function, Scope, Sort, Symbol, Term
from .evaluate import Value, evaluate

SIZES: Final = (1, 128, 4096, 2**31 - 1)


class Examples:
    """Round numbers and the largest ones, as far as they satisfy all ``facts``."""

    def __init__(self, facts: Iterable[Term]) -> None:
        self._examples: list[_Example] | None = None  # made when the first question comes
        self._facts = list(facts)

    def copy(self) -> Examples:
        """The same, for further facts of their own."""
        other = Examples(self._facts)
        other._examples = None if self._examples is None else list(self._examples)
        return other

    def assume(self, facts: Iterable[Term]) -> None:
        """Keep those that satisfy ``facts`` too."""
        self._facts += facts

    def satisfy(self, conditions: Iterable[Term]) -> bool:
        """Whether one of them satisfies all ``conditions``."""
        conditions = tuple(conditions)
        if self._examples is None:
            self._examples = [_Example(size, block) for size in SIZES for block in (0, size - 1)]
        if self._facts:
            facts, self._facts = tuple(self._facts), []
            self._examples = [example for example in self._examples if example.satisfies(facts)]
        return any(example.satisfies(conditions) for example in self._examples)


@dataclass(slots=True)
class _Example:
    """Every size and scalar is ``size``, every number of a block ``block``, all else is as small as it can be."""

    size: int
    block: int
    _known: dict[Term, Value] = field(default_factory=dict)

    def satisfies(self, conditions: Iterable[Term]) -> bool:
        try:
            return all(evaluate(condition, self, self._result, self._known) for condition in conditions)
        except ZeroDivisionError:
            return False

    def __getitem__(self, variable: Term) -> Value:
        return self._within(variable.symbol)

    def _result(self, function: Function, arguments: tuple[Value, ...]) -> Value:
        """Constant functions are functions."""
        del arguments
        return self._within(function)

    def _within(self, symbol: Symbol | Function) -> Value:
        if symbol.sort is Sort.BOOL:
            return False
        wanted = 0
        if isinstance(symbol, Symbol):
            wanted = {Scope.LAUNCH: self.size, Scope.BLOCK: self.block}.get(symbol.scope, 0)
        at_least = wanted if symbol.low is None else max(symbol.low, wanted)
        return at_least if symbol.high is None else min(symbol.high, at_least)
