"""Rewritings keep the value: choices, simplification under conditions, intervals under paths, divisors."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import assume, given, settings
from tests.profiles import tries

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.frontend.symbolic.invariants import content
from tileverify.frontend.symbolic.machine import Bounds
from tileverify.frontend.symbolic.tokens import entails, weaken

from ...verifier.expressions import VARIABLES, Tree, assignments, conditions, term, trees

Values = Mapping[str, int]


def value(built: Term, values: Values) -> int | bool:
    try:
        return evaluate(built, {VARIABLES[name]: number for name, number in values.items()})
    except ZeroDivisionError:
        assume(False)
        raise


@given(trees, assignments)
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_simplified_keeps_the_value(tree: Tree, values: Values) -> None:
    built = term(tree)
    assert value(t.simplified(built), values) == value(built, values)


@given(conditions(trees), trees, trees, assignments)
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_choice_is_a_choice(test: Tree, then: Tree, otherwise: Tree, values: Values) -> None:
    c, a, b = term(test), term(then), term(otherwise)
    assert value(t.choice(c, a, b), values) == (value(a, values) if value(c, values) else value(b, values))


@given(conditions(trees), trees, assignments)
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_assuming_what_holds_keeps_the_value(test: Tree, tree: Tree, values: Values) -> None:
    c, built = term(test), term(tree)
    c = c if value(c, values) else t.not_(c)
    assert value(t.assuming(built, t.literals(c)), values) == value(built, values)


@given(conditions(trees), trees, assignments)
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_intervals_under_a_path_hold_on_it(test: Tree, tree: Tree, values: Values) -> None:
    c, built = term(test), term(tree)
    assume(value(c, values))
    low, high = Bounds().under(c).interval(built)
    assert low is None or low <= value(built, values)
    assert high is None or value(built, values) <= high


@given(conditions(trees), conditions(trees), assignments)
@settings(max_examples=tries(short=80, long=4000), deadline=None)
def test_weaken_is_a_disjunction(first: Tree, second: Tree, values: Values) -> None:
    a, b = term(first), term(second)
    assert value(weaken(a, b), values) == (value(a, values) or value(b, values))
    assert not entails(a, b) or not value(a, values) or value(b, values)


@given(trees, assignments)
@settings(max_examples=tries(short=60, long=3000), deadline=None)
def test_content_divides(tree: Tree, values: Values) -> None:
    built = term(tree)
    divisor = content(built)
    assert value(built, values) % divisor == 0 if divisor else value(built, values) == 0


def test_python_remainder_is_recognised() -> None:
    a, b = (t.var(name, Scope.LAUNCH, -(2**31), 2**31 - 1) for name in "ab")
    r = t.truncmod(a, b)
    mixed = t.not_(t.iff(t.lt(r, t.ZERO), t.lt(b, t.ZERO)))
    for total in (t.add(r, b), t.wrap(32, t.add(r, b))):
        assert t.ite(t.and_(t.ne(r, t.ZERO), mixed), total, r) is t.floormod(a, b)
    assert t.ite(mixed, t.add(r, b), r) is not t.floormod(a, b)


def test_one_comparison_has_one_form() -> None:
    x, y = (t.var(name, Scope.LAUNCH) for name in "xy")
    assert t.lt(x, t.add(y, t.ONE)) is t.le(x, y)
    assert t.le(t.add(x, t.ONE), y) is t.lt(x, y)
    assert t.or_(t.lt(x, y), t.eq(x, y)) is t.le(x, y)
    assert t.or_(t.lt(x, t.sub(y, t.ONE)), t.eq(x, t.sub(y, t.ONE))) is t.lt(x, y)


def test_absorption() -> None:
    a, b = (t.var(name, Scope.BLOCK, sort=t.Sort.BOOL) for name in "ab")
    assert t.or_(a, t.and_(a, b)) is a
    assert t.or_(a, t.and_(t.not_(a), b)) is t.or_(a, b)
    assert t.and_(a, t.or_(t.not_(a), b)) is t.and_(a, b)


def test_a_lane_comes_back_from_a_split() -> None:
    x = t.var("l0", Scope.LANE, 0, 63)
    assert t.add(t.scale(4, t.floordiv(x, t.const(4))), t.floormod(x, t.const(4))) is x


def test_an_unsigned_reading_is_not_negative() -> None:
    x = t.var("x", Scope.LAUNCH, -(2**31), 2**31 - 1)
    reading = t.unsigned(32, x)
    assert (reading.low, reading.high) == (0, 2**32 - 1)
    assert t.truncdiv(reading, t.const(2)) is t.floordiv(reading, t.const(2))
    assert t.render(reading) == "unsigned32(x)"
