"""The search for clauses that close a question."""

from __future__ import annotations

from tileverify.contract import terms as t
from tileverify.contract.variables import GRID
from tileverify.verifier.rules.clause_search import search

CLAUSES = [t.eq(axis, t.ONE) for axis in GRID]


def test_a_question_that_is_closed_already_takes_no_clause_and_comes_to_an_end() -> None:
    """Every choice is refused, until nothing is left to choose from."""
    found = search(
        [CLAUSES], admitted=lambda offered, group: list(group), closes=lambda clauses: True,
        accepted=lambda chosen: False, stop=lambda: False,
    )  # fmt: skip
    assert found == []


def test_as_few_clauses_as_will_do() -> None:
    found = search(
        [CLAUSES[:1], CLAUSES[1:]], admitted=lambda offered, group: list(group),
        closes=lambda clauses: CLAUSES[2] in clauses, accepted=lambda chosen: True, stop=lambda: False,
    )  # fmt: skip
    assert found == CLAUSES[2:]
