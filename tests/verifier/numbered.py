"""Data facts of numbers alone."""

from __future__ import annotations

from tileverify.contract.data_facts import parse_data_fact
from tileverify.contract.expressions import evaluate
from tileverify.contract.facts.statements import NumberedFact


def fact(text: str) -> NumberedFact:
    return NumberedFact.evaluated(parse_data_fact(text), lambda part: evaluate(part, {}))
