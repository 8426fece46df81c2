"""Clauses are rewritten to what is equal, and what is printed is read back as what was meant."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileverify.contract import terms as t
from tileverify.contract.expression_parser import parse_condition
from tileverify.contract.expressions import evaluate as expression_value
from tileverify.contract.launch import SameArray
from tileverify.contract.terms import Scope, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.contract.variables import BID, GRID
from tileverify.verifier.abduction.clause_wording import plain
from tileverify.verifier.abduction.clauses import can_be_said, clause_text
from tileverify.verifier.abduction.mining import eliminations
from tileverify.verifier.obligations.limits import clause_terms_of

from .expressions import VARIABLES, assignments, conditions, trees, truth
from .small_launches import LAUNCHES, SMALL, among, facts, holds, sizes


# ------------------------------------------------------------------------------------- equal where facts hold
@given(facts, facts)
def test_a_plain_clause_is_equal_wherever_the_facts_hold(tree: object, fact_tree: object) -> None:
    clause, fact = among(tree, SMALL), among(fact_tree, SMALL)
    possible = [launch for launch in LAUNCHES if holds(fact, launch)]

    def implies(given: Sequence[Term], conclusion: Term) -> bool:
        kept = (launch for launch in possible if all(holds(one, launch) for one in given))
        return all(holds(conclusion, launch) for launch in kept)

    shorter = plain(clause, implies)
    assert [holds(shorter, launch) for launch in possible] == [holds(clause, launch) for launch in possible]


N, M = (t.var(name, Scope.LAUNCH, 0, 2**31 - 1) for name in "NM")
P = t.var("p", Scope.LAUNCH, -(2**31), 2**31 - 1)
TILES = t.ceildiv(N, t.const(64))


def by_intervals(given: Sequence[Term], conclusion: Term) -> bool:
    """Knows that ``p < 0`` is no number of a tile, and nothing else."""
    return conclusion is t.lt(P, TILES) and t.lt(P, t.ZERO) in given


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (t.not_(t.and_(t.lt(P, TILES), t.lt(P, t.ZERO))), "p >= 0"),
        (t.or_(t.le(TILES, P), t.lt(t.unsigned(32, P), TILES)), "p >= 0"),
        (t.le(N, t.minimum(M, P)), "N <= M and N <= p"),
        (t.le(t.maximum(N, P), M), "N <= M and p <= M"),
        (t.le(t.scale(1024, GRID[0]), t.const(2**31)), "grid.x <= 2 ** 21"),
        (t.ne(TILES, t.ZERO), "N >= 1"),
        (t.lt(TILES, t.const(3)), "N <= 128"),
        (t.lt(TILES, t.ONE), "N == 0"),
        (t.le(t.const(5), TILES), "cdiv(N, 64) >= 5"),
        (t.le(t.scale(64, TILES), N), "N % 64 == 0"),
        (t.le(t.scale(64, TILES), t.add(N, t.const(2))), "64 * cdiv(N, 64) <= N + 2"),
    ],
)
def test_what_an_engineer_would_write(condition: Term, text: str) -> None:
    assert clause_text(plain(condition, by_intervals)) == text


# ---------------------------------------------------------------------------------------- printed, read back
LAUNCH = {
    name: t.var(name, Scope.LAUNCH, variable.symbol.low, variable.symbol.high) for name, variable in VARIABLES.items()
}


@given(conditions(trees), assignments)
def test_the_printed_clause_means_the_clause(tree: object, values: dict[str, int]) -> None:
    condition = among(tree, LAUNCH)
    text = clause_text(condition)
    numbers = {LAUNCH[name]: value for name, value in values.items()}
    try:
        wanted = bool(evaluate(condition, numbers))
        assert wanted is truth(tree, values)
    except ZeroDivisionError:
        return
    if text is None:
        return  # truncating divisions have no words
    parsed = parse_condition(text)
    assert not isinstance(parsed, SameArray)
    assert bool(expression_value(parsed, values)) is wanted, text
    (back,) = clause_terms_of([text], LAUNCH)
    assert bool(evaluate(back, numbers)) is wanted, text


# ------------------------------------------------------------------------------------------------ eliminations
X = BID[0]
LANE = t.var("l0", Scope.LANE, 0, 63)


def test_what_a_question_says_of_the_launch() -> None:
    inside = t.lt(X, GRID[0])
    assert list(eliminations([inside, t.le(TILES, X)], can_be_said)) == [(t.lt(TILES, GRID[0]),)]
    element = t.add(t.scale(64, X), LANE)
    (case,) = eliminations([t.lt(element, M), t.le(N, element)], can_be_said)
    assert t.lt(N, M) in case
    below, above = eliminations([inside, t.or_(t.lt(P, t.ZERO), t.le(M, X))], can_be_said)
    assert t.lt(P, t.ZERO) in below
    assert t.lt(M, GRID[0]) in above


@given(st.lists(conditions(sizes), min_size=1, max_size=4))
def test_projections_hold_in_every_solution(parts: list[object]) -> None:
    """``b`` is what only a block knows."""
    block = t.var("b", Scope.BLOCK, -4, 4)
    asked = [among(part, {**SMALL, "b": block}) for part in parts]
    cases = list(eliminations(asked, can_be_said))
    for launch in LAUNCHES:
        values = {SMALL["a"]: launch["a"], SMALL["d"]: launch["d"], block: launch["b"]}
        if all(evaluate(one, values) for one in asked):
            assert any(all(evaluate(one, values) for one in case) for case in cases), launch
