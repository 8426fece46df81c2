"""The search for clauses that close a question."""

from __future__ import annotations

import pytest

from tileverify.contract import terms as t
from tileverify.contract.terms import Term
from tileverify.contract.variables import GRID
from tileverify.verifier.search.clause_search import search
from tileverify.verifier.search.clauses import spoken

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


BLOCKS = t.mul(GRID[0], t.mul(GRID[1], GRID[2]))


@pytest.mark.parametrize(
    "number", [t.wrap(32, BLOCKS), t.wrap(64, t.mul(BLOCKS, BLOCKS)), t.unsigned(32, t.wrap(32, BLOCKS))], ids=str
)
def test_no_clause_speaks_of_how_integers_wrap(number: Term) -> None:
    """``(grid.x * grid.y + 2**63) % 2**64 - 2**63 <= 1`` was one of an open grid once."""
    assert not [*spoken(t.le(number, t.const(7)))]
    assert [each.text for each in spoken(t.le(BLOCKS, t.const(7)))] == ["grid.x * grid.y * grid.z <= 7"]
