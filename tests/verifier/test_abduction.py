"""Abduction: as few assumptions as close a question."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileverify.contract import terms as t
from tileverify.contract.terms import Term
from tileverify.contract.variables import GRID
from tileverify.verifier.abduction.abduce import abduce, fewest
from tileverify.verifier.abduction.clauses import spoken

CLAUSES = [t.eq(axis, t.ONE) for axis in GRID]


def test_a_question_that_is_closed_already_takes_no_clause_and_comes_to_an_end() -> None:
    """Every choice is refused, until nothing is left to choose from."""
    assert abduce([CLAUSES], lambda clauses: True, accepted=lambda chosen: False) == []


def test_as_few_clauses_as_will_do() -> None:
    assert abduce([CLAUSES[:1], CLAUSES[1:]], lambda clauses: CLAUSES[2] in clauses) == CLAUSES[2:]


@given(st.sets(st.frozensets(st.integers(0, 7), min_size=1), min_size=1, max_size=4), st.integers(1, 8))
def test_a_choice_closes_and_none_of_it_can_be_left_out(closing: set[frozenset[int]], size: int) -> None:
    """Of eight assumptions in groups of ``size``, where any superset of a set in ``closing`` closes."""

    def closes(chosen: Sequence[int]) -> bool:
        return any(each <= set(chosen) for each in closing)

    groups = [list(range(8))[start : start + size] for start in range(0, 8, size)]
    found = abduce(groups, closes)
    assert closes(found)
    assert not any(closes([each for each in found if each != left]) for left in found)
    assert closes(fewest(range(8), closes))


def test_what_may_not_be_assumed_is_not() -> None:
    found = abduce(
        [[1, 2], [3]], lambda chosen: 3 in chosen or 1 in chosen, admitted=lambda _, group: [n for n in group if n > 1]
    )
    assert found == [3]


def test_what_is_chosen_is_weakened_as_far_as_it_closes() -> None:
    found = abduce(
        [[12]], lambda chosen: any(n % 3 == 0 for n in chosen), weaker=lambda n: [d for d in (2, 3, 6) if n % d == 0]
    )
    assert found == [3]


BLOCKS = t.mul(GRID[0], t.mul(GRID[1], GRID[2]))


@pytest.mark.parametrize(
    "number", [t.wrap(32, BLOCKS), t.wrap(64, t.mul(BLOCKS, BLOCKS)), t.unsigned(32, t.wrap(32, BLOCKS))], ids=str
)
def test_no_clause_speaks_of_how_integers_wrap(number: Term) -> None:
    """``(grid.x * grid.y + 2**63) % 2**64 - 2**63 <= 1`` was one of an open grid once."""
    assert not [*spoken(t.le(number, t.const(7)))]
    assert [each.text for each in spoken(t.le(BLOCKS, t.const(7)))] == ["grid.x * grid.y * grid.z <= 7"]
