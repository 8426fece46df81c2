"""Clauses that people are advised to write are equal to what was found, and as short as they would write them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.verifier.small_launches import LAUNCHES, SMALL, among, facts, holds

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Sort, Term
from tileverify.verifier.abduction.clause_wording import Implies, shortest
from tileverify.verifier.abduction.clauses import Clause, spoken
from tileverify.verifier.obligations.answers import Answer
from tileverify.verifier.smt import Solver

H, L, M, N, P = (t.var(name, Scope.LAUNCH, 0, 2**31 - 1) for name in "HLMNP")


def clauses(*conditions: Term) -> list[Clause]:
    return [clause for condition in conditions for clause in spoken(condition)]


def by_solver(*known: Term) -> Implies:
    solver = Solver(known)
    return lambda given, then: solver.decide([*given, t.not_(then)]).answer is Answer.UNSATISFIABLE


def tiles(size: Term, tile: int) -> Term:
    return t.ceildiv(size, t.const(tile))


def whole(size: Term, tile: int) -> Term:
    return t.floordiv(size, t.const(tile))


@pytest.mark.parametrize(
    ("conditions", "texts"),
    [
        ([t.le(H, t.scale(4, whole(H, 4)))], ["H % 4 == 0"]),
        ([t.le(tiles(H, 4), whole(H, 4))], ["H % 4 == 0"]),
        ([t.le(tiles(M, 32), tiles(N, 32)), t.le(tiles(N, 32), tiles(M, 32))], ["cdiv(M, 32) == cdiv(N, 32)"]),
        ([t.le(M, N), t.lt(P, L), t.le(N, M)], ["M == N", "P < L"]),
        ([t.or_(t.le(t.const(64), L), t.eq(P, t.ZERO))], ["L >= 64"]),
        ([t.le(t.const(1), tiles(L, 8))], ["L >= 1"]),
        ([t.le(tiles(M, 32), N)], ["cdiv(M, 32) <= N"]),
    ],
)
def test_what_people_write(conditions: list[Term], texts: list[str]) -> None:
    found = shortest(clauses(*conditions), by_solver(), [t.le(t.ONE, P)])
    assert [clause.text for clause in found] == texts


def test_an_empty_array_counts_where_limits_do_not_exclude_it() -> None:
    clause = clauses(t.or_(t.le(t.const(64), L), t.eq(P, t.ZERO)))
    assert shortest(clause, by_solver()) == clause


def test_the_contract_counts() -> None:
    even = t.eq(t.floormod(H, t.const(2)), t.ZERO)
    found = shortest(clauses(t.le(H, t.scale(6, whole(H, 6)))), by_solver(even), facts=[even])
    assert [clause.text for clause in found] == ["H % 6 == 0"]
    assert shortest(clauses(t.le(M, N), t.le(N, M)), lambda given, then: False) == clauses(t.le(M, N), t.le(N, M))


usual = st.builds(
    lambda a, b, k, form: form(SMALL[a], SMALL[b], t.const(k)),
    st.sampled_from(sorted(SMALL)),
    st.sampled_from(sorted(SMALL)),
    st.integers(2, 4),
    st.sampled_from(
        [
            lambda a, b, k: t.le(a, t.mul(k, t.floordiv(a, k))),
            lambda a, b, k: t.le(t.ceildiv(a, k), t.floordiv(a, k)),
            lambda a, b, k: t.le(t.ceildiv(a, k), t.ceildiv(b, k)),
            lambda a, b, k: t.or_(t.le(k, a), t.eq(b, t.ZERO)),
            lambda a, b, k: t.lt(t.sub(a, k), t.sub(b, k)),
        ]
    ),
)
random = facts.map(lambda tree: among(tree, SMALL)).filter(lambda term: term.sort is Sort.BOOL)


@given(st.lists(usual | random, min_size=1, max_size=3), random, st.sets(st.sampled_from(sorted(SMALL))))
def test_shorter_clauses_are_equal_in_launches_whose_arrays_are_not_empty(
    conditions: list[Term], fact: Term, sizes: set[str]
) -> None:
    possible = [launch for launch in LAUNCHES if holds(fact, launch)]
    filled = [t.le(t.ONE, SMALL[size]) for size in sorted(sizes)]

    def implies(given: Sequence[Term], conclusion: Term) -> bool:
        return all(holds(conclusion, one) for one in possible if all(holds(each, one) for each in given))

    before = clauses(*conditions)
    after = shortest(before, implies, filled, [fact])
    assert sum(len(clause.text) for clause in after) <= sum(len(clause.text) for clause in before)
    for launch in possible:
        wanted, said = (all(holds(clause.condition, launch) for clause in each) for each in (before, after))
        assert wanted or not said, launch
        assert said or not wanted or not all(holds(each, launch) for each in filled), launch
