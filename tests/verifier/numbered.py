"""Data facts of numbers alone."""

from __future__ import annotations

from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate
from tileverify.contract.facts.statements import NumberedFact
from tileverify.contract.launch import Expression


def number(part: Expression | None) -> int | None:
    return None if part is None else evaluate(part, {})


def fact(text: str) -> NumberedFact:
    read = parse_data_fact(text)
    unless = frozenset(evaluate(part, {}) for part in read.unless)
    low, high, amount, width = map(number, (read.low, read.high, read.amount, read.width))
    return NumberedFact(read.kind, read.array, read.other, low, high, amount, unless, width)
