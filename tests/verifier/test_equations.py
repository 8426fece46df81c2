"""Equations taken apart say what the whole said; bounds and differences refute only what cannot be."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import tries

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.verifier.obligations.differences import Differences, equations
from tileverify.verifier.obligations.digits import joined
from tileverify.verifier.obligations.simplify import known_ranges, simplify, split
from tileverify.verifier.smt import Solver

A, B = (t.var(name, Scope.BLOCK, 0, 5) for name in "ab")
L, M = (t.var(name, Scope.LANE, 0, 3) for name in "lm")
OPEN = t.var("n", Scope.LAUNCH, 0)
SMALL = (A, B, L, M)
BID, OTHER = (t.var(name, Scope.BLOCK, 0, 100) for name in ("bid.x", "bid.x'"))
LANE, OTHER_LANE = (t.var(name, Scope.LANE, 0, 15) for name in ("l0", "l0'"))

sums = st.builds(
    lambda constant, coefficients: t.add(
        t.const(constant), *(t.scale(c, v) for c, v in zip(coefficients, SMALL, strict=True))
    ),
    st.integers(-20, 20),
    st.tuples(*[st.sampled_from([0, 0, 1, -1, 2, 3, 4, -4, 5, 8, -8, 12, 20])] * 4),
)
comparisons = st.builds(lambda relation, a, b: relation(a, b), st.sampled_from([t.lt, t.le, t.eq, t.ne]), sums, sums)
conditions = st.one_of(
    comparisons, st.builds(t.or_, comparisons, comparisons), st.builds(t.and_, comparisons, comparisons)
)


def launches() -> list[dict[Term, int]]:
    return [dict(zip(SMALL, values, strict=True)) for values in product(range(6), range(6), range(4), range(4))]


ALL = launches()


@given(sums, sums, st.lists(comparisons, max_size=2))
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_the_parts_of_an_equation_say_what_it_says(a: Term, b: Term, known: list[Term]) -> None:
    equation = t.eq(a, b)
    parts = split(equation, known_ranges(frozenset(known)))
    if parts is not None:
        for values in ALL:
            if all(evaluate(each, values) for each in known):
                assert evaluate(equation, values) == all(evaluate(part, values) for part in parts)


@given(st.lists(conditions, max_size=4), st.lists(conditions, max_size=3))
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_what_is_refuted_has_no_solution(facts: list[Term], asked: list[Term]) -> None:
    if Differences(facts).refute(asked):
        assert not any(all(evaluate(each, values) for each in (*facts, *asked)) for values in ALL)


@given(st.lists(conditions, min_size=1, max_size=4), st.lists(comparisons, max_size=2))
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_what_simplifies_to_nothing_has_no_solution(asked: list[Term], facts: list[Term]) -> None:
    if simplify(asked, frozenset(facts)) is None:
        assert not any(all(evaluate(each, values) for each in (*facts, *asked)) for values in ALL)


quotients = st.builds(
    lambda x, y, base, part: t.eq(part(x, t.const(base)), part(y, t.const(base))),
    sums,
    sums,
    st.sampled_from([2, 3, 4, 6, 8]),
    st.sampled_from([t.floordiv, t.floormod]),
)


@given(sums, sums, st.sampled_from([2, 3, 4, 6, 8]), st.booleans(), st.lists(quotients, max_size=2))
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_numbers_put_together_are_equal_where_their_digits_are(
    x: Term, y: Term, base: int, told: bool, others: list[Term]
) -> None:
    divisor = t.const(base)
    equation = t.eq(t.floordiv(x, divisor), t.floordiv(y, divisor))
    rest = t.eq(t.floormod(x, divisor), t.floormod(y, divisor))
    among = [*([rest] if told else []), *others]
    found = joined(equation, frozenset(among), frozenset())
    if found is None:
        return
    (whole,) = found
    for values in ALL:
        if all(evaluate(each, values) for each in among):
            assert evaluate(equation, values) == evaluate(whole, values)


@given(st.lists(st.one_of(quotients, comparisons), min_size=2, max_size=6))
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_digits_that_simplify_to_nothing_have_no_solution(asked: list[Term]) -> None:
    if simplify(asked) is None:
        assert not any(all(evaluate(each, values) for each in asked) for values in ALL)


def digits(x: Term) -> list[Term]:
    """Base 2, 4 and 4 from the largest down, of numbers below 32, and what is beyond."""
    base = [t.const(n) for n in (32, 16, 4)]
    rests = [x, *(t.floormod(x, each) for each in base)]
    return [*(t.floordiv(rest, each) for rest, each in zip(rests, base, strict=False)), rests[-1]]


@pytest.mark.parametrize("left_out", [None, 0, 1, 2, 3])
def test_numbers_are_told_apart_by_all_of_their_digits(left_out: int | None) -> None:
    turns = [t.add(bid, t.scale(148, t.var(name, Scope.ITERATION, 0))) for bid, name in ((BID, "k"), (OTHER, "k'"))]
    equal = [t.eq(a, b) for a, b in zip(*map(digits, turns), strict=True)]
    asked = [*(each for number, each in enumerate(equal) if number != left_out), t.ne(BID, OTHER)]
    assert (simplify(asked) is None) == (left_out is None)


def test_blocks_side_by_side() -> None:
    here, there = (t.add(t.scale(16, bid), lane) for bid, lane in ((BID, LANE), (OTHER, OTHER_LANE)))
    assert split(t.eq(here, there)) == (t.eq(BID, OTHER), t.eq(LANE, OTHER_LANE))
    assert simplify([t.eq(here, there), t.ne(BID, OTHER)]) is None


@pytest.mark.parametrize("step", [15, 8, 1])
def test_blocks_that_overlap_stay_one_equation(step: int) -> None:
    here, there = (t.add(t.scale(step, bid), lane) for bid, lane in ((BID, LANE), (OTHER, OTHER_LANE)))
    assert split(t.eq(here, there)) is None


def test_what_is_known_of_ranges_helps() -> None:
    column, other = (t.var(name, Scope.BLOCK, 0, 2**24) for name in ("bid.y", "bid.y'"))
    equation = t.eq(t.add(t.scale(17, BID), column), t.add(t.scale(17, OTHER), other))
    assert split(equation) is None
    assert split(equation, known_ranges(frozenset((t.lt(column, t.const(17)), t.lt(other, t.const(17)))))) is not None
    assert split(equation, known_ranges(frozenset((t.lt(column, t.const(18)), t.lt(other, t.const(18)))))) is None


def test_no_more_blocks_than_tiles() -> None:
    grid, tiles = t.var("grid.x", Scope.LAUNCH, 1), t.ceildiv(OPEN, t.const(128))
    known = Differences([t.lt(BID, grid), t.le(grid, tiles)])
    assert known.refute([t.le(tiles, BID)])
    assert not known.refute([t.le(tiles, t.add(BID, t.ONE))])
    later = known.copy()
    later.assume([t.le(grid, t.const(4))])
    assert later.refute([t.lt(t.const(3), BID)])
    assert not known.refute([t.lt(t.const(3), BID)])
    assert later.refute([t.le(t.const(64), t.add(t.scale(16, BID), LANE))])


def test_every_alternative_must_be_refuted() -> None:
    known = Differences([t.lt(BID, t.const(4))])
    assert known.refute([t.or_(t.lt(t.const(9), BID), t.lt(BID, t.ZERO))])
    assert not known.refute([t.or_(t.lt(t.const(9), BID), t.lt(BID, t.ONE))])


def test_nothing_refutes_nothing() -> None:
    assert not Differences([]).refute([])


@given(st.lists(comparisons, max_size=3), sums, sums, st.integers(1, 8))
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_equations_follow_from_opposite_comparisons(others: list[Term], a: Term, b: Term, room: int) -> None:
    asked = [*others, t.lt(a, t.add(b, t.const(room))), t.lt(b, t.add(a, t.const(room)))]
    found = list(equations(asked))
    for values in ALL if found else ():
        if all(evaluate(each, values) for each in asked):
            assert all(evaluate(each, values) for each in found)


def overlapping(a: Term, b: Term, bytes_: int) -> list[Term]:
    """The conditions that two elements of so many bytes overlap, which lie at multiples of 4 bytes."""
    first, second = t.scale(4, a), t.scale(4, b)
    return [t.lt(first, t.add(second, t.const(bytes_))), t.lt(second, t.add(first, t.const(bytes_)))]


def test_elements_that_overlap_are_one() -> None:
    here, there = (t.add(t.scale(16, bid), lane) for bid, lane in ((BID, LANE), (OTHER, OTHER_LANE)))
    assert next(equations(overlapping(here, there, 4))) in (t.eq(here, there), t.eq(there, here))
    assert Solver([]).plainly_refuted([*overlapping(here, there, 4), t.ne(BID, OTHER)])
    assert not list(equations(overlapping(here, there, 8)))
    assert not Solver([]).plainly_refuted([*overlapping(here, there, 4), t.ne(LANE, t.ZERO)])


@pytest.mark.parametrize("empty", [0, 4])
def test_no_element_lies_behind_a_size_in_bytes(empty: int) -> None:
    """``N`` elements of 4 bytes; if an array without elements had 4 bytes, the last element would lie behind them."""
    size = t.ite(t.eq(OPEN, t.ZERO), t.const(empty), t.scale(4, t.sub(OPEN, t.const(empty // 4))))
    behind = t.lt(size, t.add(t.scale(4, LANE), t.const(4)))
    assert Differences([]).refute([behind, t.lt(LANE, OPEN)]) == (empty == 0)
