"""What a launch at hand satisfies, the solver finds satisfiable, too."""

from __future__ import annotations

from hypothesis import assume, given, settings

from tileverify.frontend.symbolic import terms as t
from tileverify.frontend.symbolic.terms import Function, Scope
from tileverify.verifier.examples import Examples
from tileverify.verifier.smt import Answer, Decider, Limits

from .expressions import Tree, term, trees

SIZE = t.var("n", Scope.LAUNCH, 0)
BLOCK = t.var("bid.x", Scope.BLOCK, 0)
LIMITS = Limits(linear=400_000, nonlinear=400_000, rounds=20)


@given(trees, trees)
@settings(max_examples=250, deadline=None)
def test_an_example_is_a_model(first: Tree, second: Tree) -> None:
    fact, condition = t.le(term(first), term(second)), t.lt(t.ZERO, term(first))
    assume(Examples([fact]).satisfy([condition]))
    assert Decider([fact], LIMITS).decide([condition], model=True).answer is not Answer.UNSATISFIABLE


def test_round_sizes_and_first_and_last_blocks() -> None:
    examples = Examples([t.lt(BLOCK, SIZE)])
    assert examples.satisfy([t.eq(t.floormod(SIZE, t.const(128)), t.ZERO), t.eq(BLOCK, t.ZERO)])
    assert examples.satisfy([t.eq(BLOCK, t.sub(SIZE, t.ONE)), t.lt(t.const(1000), BLOCK)])
    assert not examples.satisfy([t.eq(SIZE, t.ZERO)])  # there is such a launch, but not at hand


def test_facts_leave_fewer() -> None:
    examples = Examples([])
    assert examples.satisfy([t.eq(SIZE, t.ONE)])
    examples.assume([t.lt(t.ONE, SIZE)])
    assert not examples.satisfy([t.eq(SIZE, t.ONE)])
    assert examples.satisfy([t.eq(SIZE, t.const(128))])


def test_values_of_functions_are_values_of_a_function() -> None:
    data = Function("data", Scope.LAUNCH, 3, 9)
    first, second = t.apply(data, t.ZERO), t.apply(data, t.ONE)
    assert not Examples([]).satisfy([t.ne(first, second)])
    assert Examples([]).satisfy([t.eq(first, t.const(3))])


def test_what_is_not_defined_is_no_example() -> None:
    assert not Examples([]).satisfy([t.eq(t.floordiv(SIZE, t.sub(SIZE, SIZE)), t.ZERO)])
    zero = t.sub(SIZE, t.minimum(SIZE, t.const(2**40)))
    assert not Examples([]).satisfy([t.le(t.floordiv(SIZE, zero), t.ZERO)])


def test_a_model_is_given_where_it_is_asked_for() -> None:
    decider = Decider([t.lt(BLOCK, SIZE)])
    assert decider.decide([]).model is None
    model = decider.decide([], model=True).model
    assert model is not None
    assert 0 <= model.variables[BLOCK] < model.variables[SIZE]
