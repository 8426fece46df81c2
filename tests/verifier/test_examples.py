"""What a launch at hand satisfies, the solver finds satisfiable, too."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import HealthCheck, assume, given, settings
from tests.profiles import tries

from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope
from tileverify.verifier.obligations.answers import Answer, Limits
from tileverify.verifier.smt import Solver
from tileverify.verifier.smt.known_launches import Examples

from .expressions import Tree, term, trees

SIZE = t.var("n", Scope.LAUNCH, 0)
BLOCK = t.var("bid.x", Scope.BLOCK, 0)
LIMITS = Limits(linear=400_000, nonlinear=400_000, rounds=20)


@given(trees, trees)
@settings(max_examples=tries(short=50, long=2500), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_an_example_is_a_model(first: Tree, second: Tree) -> None:
    fact, condition = t.le(term(first), term(second)), t.lt(t.ZERO, term(first))
    assume(Examples([fact]).satisfy([condition]))
    assert Solver([fact], LIMITS).decide([condition], model=True).answer is not Answer.UNSATISFIABLE


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
    solver = Solver([t.lt(BLOCK, SIZE)])
    assert solver.decide([]).model is None
    model = solver.decide([], model=True).model
    assert model is not None
    assert 0 <= model.variables[BLOCK] < model.variables[SIZE]


class _Given:
    """Numbers written out."""

    def __init__(self, variables: dict[t.Term, int], results: dict[tuple[Function, tuple[int, ...]], int]) -> None:
        self._variables, self._results = variables, results

    def variable(self, variable: t.Term) -> int | None:
        return self._variables.get(variable)

    def results(self) -> dict[tuple[Function, tuple[int, ...]], int]:
        return self._results


def test_numbers_are_learned_that_satisfy_facts_and_question() -> None:
    examples, product = Examples([t.lt(BLOCK, SIZE)]), t.mul(SIZE, BLOCK)
    odd = [t.eq(product, t.const(77)), t.lt(t.ONE, BLOCK)]
    assert not examples.satisfy(odd)
    assert not examples.learn(_Given({SIZE: 7, BLOCK: 11}, {}), odd)  # not in the grid
    assert not examples.learn(_Given({SIZE: 11, BLOCK: 8}, {}), odd)  # another product
    assert not examples.satisfy(odd)
    assert examples.learn(_Given({SIZE: 11, BLOCK: 7}, {}), odd)
    assert examples.satisfy(odd)
    assert examples.satisfy([t.eq(SIZE, t.const(11))])
    copy = examples.copy()
    examples.assume([t.lt(SIZE, t.const(11))])
    assert not examples.satisfy(odd)
    assert copy.satisfy(odd)


def test_results_of_functions_are_learned() -> None:
    data = Function("data", Scope.LAUNCH, 3, 9)
    differ = [t.ne(t.apply(data, t.ZERO), t.apply(data, t.ONE))]
    examples = Examples([])
    assert not examples.learn(_Given({}, {}), differ)
    assert examples.learn(_Given({}, {(data, (1,)): 8}), differ)
    assert examples.satisfy([t.eq(t.apply(data, t.ONE), t.const(8)), t.eq(t.apply(data, t.const(2)), t.const(3))])


@given(trees, trees, trees)
@settings(max_examples=tries(short=50, long=2500), deadline=None)
def test_what_was_learned_changes_no_answer(first: Tree, second: Tree, third: Tree) -> None:
    facts = [t.le(term(first), term(second)), *_divisors(first), *_divisors(second), *_divisors(third)]
    questions = [[t.lt(t.ZERO, term(each))] for each in (first, second, third)]
    solver = Solver(facts, LIMITS)
    for question in questions:
        answers = {solver.decide(question).answer, Solver(facts, LIMITS, explain=True).decide(question).answer}
        assert answers != {Answer.SATISFIABLE, Answer.UNSATISFIABLE}


def _divisors(tree: Tree) -> Iterator[t.Term]:
    """That nothing is divided by 0, of which no two parts of the tool need say the same."""
    if isinstance(tree, tuple):
        if tree[0] in ("//", "%", "cdiv", "tdiv", "trem"):
            yield t.ne(term(tree[2]), t.ZERO)
        for part in tree[1:]:
            yield from _divisors(part)
