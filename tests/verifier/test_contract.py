"""Launch contracts as terms."""

from __future__ import annotations

import pytest

from tileverify.contract import terms as t
from tileverify.contract.as_terms import build_contract
from tileverify.contract.expression_parser import parse_condition
from tileverify.contract.launch import ArrayArgument, LaunchSpec, Name, SameArray, ScalarArgument
from tileverify.contract.terms import TermKind


@pytest.mark.parametrize("text", ["use or N != 3", "not use", "use == 1", "use + N >= 4", "N >= 1 and use"])
def test_a_boolean_in_a_clause_is_a_number(text: str) -> None:
    """Solvers do not compare numbers with conditions: all comparisons are of integers."""
    clause = parse_condition(text)
    assert not isinstance(clause, SameArray)
    arguments = (ArrayArgument("x", "f32", (Name("N"),)), ScalarArgument("use", "bool"))
    facts = build_contract(LaunchSpec("k", "any", arguments, requires=(clause,))).facts
    compared = [
        sub for fact in facts for sub in t.postorder(fact) if sub.kind in (TermKind.EQ, TermKind.LT, TermKind.LE)
    ]
    assert all(side.sort is t.Sort.INT for sub in compared for side in sub.args)
