"""Operations on bits, decided: every answer agrees with trying all values, and both solvers agree on words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.profiles import tries

from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.results.codes import Tier
from tileverify.verifier.certificate.second_solver import Opinion, SecondSolver
from tileverify.verifier.obligations.answers import Answer, Limits
from tileverify.verifier.obligations.bit_vectors import MOST_BITS, bit_question
from tileverify.verifier.obligations.smtlib import Vocabulary
from tileverify.verifier.smt import Solver
from tileverify.verifier.smt.tier_solver import BitVectorSolver

RANGES = {"a": (0, 7), "b": (-4, 3), "s": (0, 3)}
VARIABLES = {name: t.var(name, Scope.BLOCK, low, high) for name, (low, high) in RANGES.items()}
LIMIT = 4_000_000

Tree = Any

_leaves = st.one_of(st.sampled_from(sorted(RANGES)), st.integers(-9, 20), st.sampled_from([0x2AA5, 2**31, -(2**40)]))


def _nodes(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.tuples(st.sampled_from(["&", "|", "^", "<<", ">>"]), inner, inner),
        st.tuples(st.sampled_from(["+", "-", "*", "min"]), inner, inner),
        st.tuples(st.sampled_from(["//", "%", "trem"]), inner, st.one_of(st.integers(1, 9), st.just(-3), inner)),
        st.tuples(st.just("wrap8"), inner),
    )


trees = st.recursive(_leaves, _nodes, max_leaves=6)


def word(value: int) -> int:
    """The signed reading of 66 bits."""
    low = value & (2**66 - 1)
    return low - 2**66 if low >> 65 else low


def number(tree: Tree, values: Mapping[str, int]) -> int:  # noqa: C901  one case per operator
    if isinstance(tree, str):
        return values[tree]
    if isinstance(tree, int):
        return tree
    op, *rest = tree
    x, *others = (number(each, values) for each in rest)
    if op == "wrap8":
        return (x + 128) % 256 - 128
    (y,) = others
    match op:
        case "&":
            return word(x) & word(y)
        case "|":
            return word(x) | word(y)
        case "^":
            return word(x) ^ word(y)
        case "<<":
            return word(word(x) << word(y)) if 0 <= word(y) < 66 else 0
        case ">>":
            return word(x) >> word(y) if 0 <= word(y) < 66 else -(word(x) < 0)
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "min":
            return min(x, y)
        case "//":
            return x // y
        case "%":
            return x % y
    sign = 1 if x >= 0 else -1
    return sign * (abs(x) % abs(y))


_BUILD: dict[str, Callable[..., Term]] = {
    "&": t.bit_and,
    "|": t.bit_or,
    "^": t.bit_xor,
    "<<": t.shift_left,
    ">>": t.shift_right,
    "+": t.add,
    "-": t.sub,
    "*": t.mul,
    "min": t.minimum,
    "//": t.floordiv,
    "%": t.floormod,
    "trem": t.truncmod,
    "wrap8": lambda x: t.wrap(8, x),
}


def term(tree: Tree) -> Term:
    if isinstance(tree, str):
        return VARIABLES[tree]
    if isinstance(tree, int):
        return t.const(tree)
    op, *rest = tree
    return _BUILD[op](*map(term, rest))


def solutions(first: Tree, second: Tree) -> list[dict[str, int]]:
    """All values of the variables for which both trees are equal."""
    everything = product(*(range(low, high + 1) for low, high in RANGES.values()))
    cases = [dict(zip(RANGES, values, strict=True)) for values in everything]
    try:
        return [values for values in cases if number(first, values) == number(second, values)]
    except ZeroDivisionError:
        assume(False)
        raise


@given(trees, trees)
@settings(max_examples=tries(short=50, long=2500), deadline=None)
def test_answers_are_those_of_trying_all_values(first: Tree, second: Tree) -> None:
    """Whichever tier answers; a model of the tier on words is one of the integers."""
    expected = solutions(first, second)
    condition = t.eq(term(first), term(second))
    result = Solver([], Limits(linear=400_000, nonlinear=400_000, rounds=20)).decide([condition], model=True)
    assert result.answer is not (Answer.UNSATISFIABLE if expected else Answer.SATISFIABLE)
    if result.model is not None:
        assert evaluate(condition, {**dict.fromkeys(VARIABLES.values(), 0), **result.model.variables})


@given(trees, trees)
@settings(max_examples=tries(short=50, long=2500), deadline=None)
def test_words_alone_give_the_same_answers(first: Tree, second: Tree) -> None:
    expected = solutions(first, second)
    answer, model = BitVectorSolver([], [t.eq(term(first), term(second))], 0).settle(LIMIT, None)
    assert answer is not (Answer.UNSATISFIABLE if expected else Answer.SATISFIABLE)
    assert (model is not None) == (answer is Answer.SATISFIABLE)


@given(trees, trees)
@settings(max_examples=tries(short=25, long=600), deadline=None)
def test_the_second_solver_reads_words_the_same_way(first: Tree, second: Tree) -> None:
    vocabulary = Vocabulary()
    text = vocabulary.write(t.eq(term(first), term(second)))
    question = bit_question(vocabulary.symbols, vocabulary.definitions, [text])
    assume(question.complete)
    wrong = Opinion.CONTRADICTION if solutions(first, second) else Opinion.MODEL
    assert SecondSolver().opinion(question.script) is not wrong


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_machine_integers_of_every_width_are_decided(bits: int) -> None:
    """x ^ (x >> 1) is injective; x | (x >> 1) is not."""
    half = 1 << (bits - 1)
    x, y = (t.var(name, Scope.BLOCK, -half, half - 1) for name in "xy")

    def folded(value: Term, combine: Callable[[Term, Term], Term]) -> Term:
        reading = t.unsigned(bits, value)
        return combine(reading, t.floordiv(reading, t.const(2)))

    for combine, answer in ((t.bit_xor, Answer.UNSATISFIABLE), (t.bit_or, Answer.SATISFIABLE)):
        equal = t.eq(folded(x, combine), folded(y, combine))
        result = Solver([]).decide([equal, t.ne(x, y)])
        assert result.answer is answer
        assert result.tier == Tier.BIT_VECTORS or answer is Answer.SATISFIABLE  # numbers may be at hand before


@pytest.mark.parametrize("shift", [t.shift_left, t.shift_right])
def test_zero_stays_zero_however_far_it_is_shifted(shift: Callable[[Term, Term], Term]) -> None:
    assert shift(t.ZERO, t.var("n", Scope.LAUNCH, 0, 65)) is t.ZERO


def test_what_has_no_range_says_nothing() -> None:
    """Without it the rest is a smaller question, whose contradictions count and whose models do not."""
    free, a, b = t.var("free", Scope.LAUNCH), VARIABLES["a"], VARIABLES["b"]
    beyond = t.eq(t.bit_and(free, a), t.ONE)
    vocabulary = Vocabulary()
    question = bit_question(vocabulary.symbols, vocabulary.definitions, [vocabulary.write(beyond)])
    assert not question.complete
    assert "assert" not in question.script
    impossible = t.lt(t.bit_or(a, b), t.const(-4))
    assert BitVectorSolver([], [beyond, impossible], 0).settle(LIMIT, None)[0] is Answer.UNSATISFIABLE
    assert BitVectorSolver([], [beyond], 0).settle(LIMIT, None)[0] is Answer.UNKNOWN


def test_words_have_a_largest_width() -> None:
    """A product of 127 bits fits, one of 129 does not."""
    for high, complete in ((2**63 - 1, True), (2**64 - 1, False)):
        x, y = (t.var(name, Scope.LAUNCH, 0, high) for name in "xy")
        vocabulary = Vocabulary()
        text = vocabulary.write(t.lt(t.mul(x, t.add(y, t.ONE)), t.bit_and(x, y)))
        question = bit_question(vocabulary.symbols, vocabulary.definitions, [text])
        assert question.complete is complete
        assert question.width <= MOST_BITS


def test_functions_are_congruent_on_words() -> None:
    index = Function("idx[...]", Scope.LAUNCH, 0, 100, array="idx")
    a, b = VARIABLES["a"], t.var("a'", Scope.BLOCK, 0, 7)
    one, other = (t.apply(index, t.bit_and(x, VARIABLES["s"])) for x in (a, b))
    assert BitVectorSolver([], [t.eq(a, b), t.ne(one, other)], 0).settle(LIMIT, None)[0] is Answer.UNSATISFIABLE
    answer, model = BitVectorSolver([], [t.ne(one, other)], 0).settle(LIMIT, None)
    assert answer is Answer.SATISFIABLE
    assert model is not None
    assert len(model.applications) == 2


def test_a_limit_leaves_a_question_open() -> None:
    x, y = (t.var(name, Scope.BLOCK, 0, 2**31 - 1) for name in "xy")

    def mixed(v: Term) -> Term:
        return t.bit_xor(t.scale(1_640_531, v), t.floordiv(v, t.const(8)))

    asked = [t.eq(mixed(x), mixed(y)), t.ne(x, y)]
    assert BitVectorSolver([], asked, 0).settle(10_000, None)[0] is Answer.UNKNOWN
