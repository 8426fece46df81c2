"""Launches outside their contract, as the contents of index arrays break a data fact (`contract.facts`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...contract.data_facts import print_data_fact
from ...contract.facts import array_facts
from ...contract.facts.kinds import meaning_of
from ...contract.facts.statements import NumberedFact, Value
from ...contract.launch import DataFact
from ...system.errors import UsageError
from .elements import Array


def texts(facts: Sequence[DataFact]) -> str:
    """The facts as they were written."""
    return " and ".join(fact.text or print_data_fact(fact) for fact in facts)


def check_facts(contents: Mapping[str, Array], facts: Sequence[DataFact], value: Value) -> None:
    """Raises `UsageError` with the fact, the element and its value where contents break a data fact."""
    for fact in facts:
        problem = violation(fact, contents, value)
        if problem is not None:
            raise UsageError(f"the launch is outside the contract: '{texts([fact])}' does not hold, {problem}")


def violation(fact: DataFact, contents: Mapping[str, Array], value: Value) -> str | None:
    """What breaks the fact, with element and value; ``None`` if it holds."""
    return array_facts.violation(meaning_of(fact), NumberedFact.evaluated(fact, value), contents)
