"""The normalising constructors, the evaluator and the solver's encoding all mean what Python's integers mean."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import assume, example, given, settings
from tests.profiles import tries

from tileverify.contract import terms as t
from tileverify.contract.terms.evaluate import evaluate
from tileverify.verifier.obligations.answers import Answer, Limits
from tileverify.verifier.smt import Solver

from .expressions import VARIABLES, Tree, assignments, number, term, trees


def _expected(tree: Tree, values: Mapping[str, int]) -> int:
    try:
        return number(tree, values)
    except ZeroDivisionError:
        assume(False)
        raise


@given(trees, assignments)
@settings(max_examples=tries(short=300, long=15000), deadline=None)
@example(("wrap32", ("max", ("*", "b", -2_000_000_000), "b")), {"a": 0, "b": 2, "c": 0, "d": 1})
@example(("%", ("wrap32", ("*", "b", 2_000_000_000)), 1000), {"a": 0, "b": 3, "c": 0, "d": 1})
def test_constructors_keep_the_value(tree: Tree, values: Mapping[str, int]) -> None:
    expected = _expected(tree, values)
    built = term(tree)
    try:
        actual = evaluate(built, {VARIABLES[name]: value for name, value in values.items()})
    except ZeroDivisionError:
        assume(False)
        raise
    assert actual == expected
    assert built.low is None or built.low <= expected
    assert built.high is None or expected <= built.high


@given(trees, assignments)
@settings(max_examples=tries(short=60, long=2500), deadline=None)
def test_the_solver_reads_terms_the_same_way(tree: Tree, values: Mapping[str, int]) -> None:
    """No number but the right one is possible once the variables are fixed; the right one always is."""
    expected = _expected(tree, values)
    facts = [t.eq(VARIABLES[name], t.const(value)) for name, value in values.items()]
    built = term(tree)
    limits = Limits(linear=400_000, nonlinear=400_000, rounds=20)
    other = Solver(facts, limits).decide([t.ne(built, t.const(expected))]).answer
    same = Solver(facts, limits).decide([t.eq(built, t.const(expected))]).answer
    assert other is not Answer.SATISFIABLE
    assert same is not Answer.UNSATISFIABLE


@given(trees, assignments)
@settings(max_examples=tries(short=60, long=3000), deadline=None)
def test_substitution_is_evaluation(tree: Tree, values: Mapping[str, int]) -> None:
    expected = _expected(tree, values)
    replaced = t.substitute(term(tree), {VARIABLES[name]: t.const(value) for name, value in values.items()})
    assume(replaced.kind is t.TermKind.CONST)
    assert replaced.value == expected
