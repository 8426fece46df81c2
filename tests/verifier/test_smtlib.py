"""Certificates mean what terms mean: texts against Python's integers, by the second solver."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from hypothesis import assume, given, settings
from tests.profiles import tries

from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope, Sort, TermKind
from tileverify.verifier.certificate.scripts import sort_of
from tileverify.verifier.certificate.second_solver import Opinion, SecondSolver
from tileverify.verifier.obligations.smtlib import Vocabulary, needed_names, script, script_of_any

from .expressions import VARIABLES, Tree, assignments, number, term, trees


@given(trees, assignments)
@settings(max_examples=tries(short=60, long=3000), deadline=None)
def test_the_second_solver_reads_terms_as_python_does(tree: Tree, values: Mapping[str, int]) -> None:
    """No number but the right one is possible once the variables are fixed; the right one always is."""
    try:
        expected = number(tree, values)
    except ZeroDivisionError:
        assume(False)
        raise
    vocabulary = Vocabulary()
    fixed = [vocabulary.write(t.eq(VARIABLES[name], t.const(value))) for name, value in values.items()]
    built = term(tree)
    other = vocabulary.write(t.not_(t.eq(built, t.const(expected))))
    same = vocabulary.write(t.eq(built, t.const(expected)))
    solver = SecondSolver(300_000)
    scripts = [script(vocabulary.symbols, vocabulary.definitions, [*fixed, each], exact=True) for each in (other, same)]
    assert solver.opinion(scripts[0]) is Opinion.CONTRADICTION
    assert solver.opinion(scripts[1]) is not Opinion.CONTRADICTION


M = t.var("M", Scope.LAUNCH, 0, 100)


def asserted(vocabulary: Vocabulary, *conditions: t.Term, exact: bool = False) -> Opinion:
    texts = list(map(vocabulary.write, conditions))
    return SecondSolver().opinion(script(vocabulary.symbols, vocabulary.definitions, texts, exact=exact))


def test_different_symbols_of_one_name_stay_different() -> None:
    vocabulary = Vocabulary()
    lane, size = t.var("l0", Scope.LANE, 0, 7), t.var("l0", Scope.LAUNCH, 0, 7)
    function = t.apply(Function("l0", Scope.LAUNCH), M)
    assert len({vocabulary.write(each) for each in (lane, size, function)}) == 3
    assert asserted(vocabulary, t.ne(lane, size), t.ne(lane, function)) is Opinion.MODEL


def test_names_cannot_be_words_of_the_language() -> None:
    names = ["div", "and", "t0", "mul", "let", "a b", "a|b", "a\\b", "a.shape[0]", "bid.x'", ""]
    vocabulary = Vocabulary()
    variables = [t.var(name, Scope.LAUNCH) for name in names]
    ascending = [t.lt(a, b) for a, b in pairwise(variables)]
    assert asserted(vocabulary, *ascending) is Opinion.MODEL
    assert len(vocabulary.symbols) == len(names)
    assert asserted(vocabulary, *ascending, t.lt(variables[-1], variables[0])) is Opinion.CONTRADICTION


def test_ranges_of_variables_and_functions_are_asserted_where_they_occur() -> None:
    value = t.apply(Function("idx", Scope.LAUNCH, -5, 5), M)
    assert asserted(Vocabulary(), t.lt(t.const(200), t.add(M, t.scale(20, value)))) is Opinion.CONTRADICTION
    assert asserted(Vocabulary(), t.lt(t.const(199), t.add(M, t.scale(20, value)))) is Opinion.MODEL


def test_functions_take_conditions_as_numbers() -> None:
    flag = t.var("flag", Scope.LAUNCH, sort=Sort.BOOL)
    value, other = (t.apply(Function("f", Scope.LAUNCH), each) for each in (t.lt(M, t.ONE), flag))
    vocabulary = Vocabulary()
    assert asserted(vocabulary, t.iff(t.lt(M, t.ONE), flag), t.ne(value, other)) is Opinion.CONTRADICTION


def test_products_are_congruent_and_commute_even_inside_others() -> None:
    a, b, c = (t.var(name, Scope.LANE) for name in "abc")
    x, y = (t.var(name, Scope.BLOCK) for name in "xy")
    left, right = t.product([M, a, x]), t.product([M, b, y])
    crossed = [t.eq(a, y), t.eq(x, b)]
    assert asserted(Vocabulary(), *crossed, t.ne(left, right)) is Opinion.CONTRADICTION
    negative = (t.eq(b, c), t.lt(t.mul(b, c), t.ZERO))
    assert asserted(Vocabulary(), *negative) is Opinion.MODEL
    assert asserted(Vocabulary(), *negative, exact=True) is Opinion.CONTRADICTION


def test_definitions_come_before_their_use_and_only_where_needed() -> None:
    vocabulary = Vocabulary()
    long = t.add(M, t.scale(1000, t.var("a long name indeed", Scope.LAUNCH)))
    first, second = t.eq(t.floormod(long, t.const(12345)), t.ONE), t.lt(t.mul(M, long), M)
    texts = [vocabulary.write(first), vocabulary.write(second)]
    seen: set[str] = set()
    for name, text in vocabulary.definitions.items():
        used = needed_names([text], {}) & set(vocabulary.definitions)
        assert used <= seen
        seen.add(name)
    alone = script(vocabulary.symbols, vocabulary.definitions, texts[:1], exact=False)
    assert "mul $M" not in alone
    assert long.kind is TermKind.SUM


def test_the_same_terms_in_the_same_order_give_the_same_text() -> None:
    def written() -> tuple[dict[str, str], list[str]]:
        vocabulary = Vocabulary()
        texts = [vocabulary.write(t.lt(t.mul(M, t.var(name, Scope.BLOCK)), M)) for name in "xyz"]
        return vocabulary.definitions, texts

    assert written() == written()


@given(trees)
@settings(max_examples=tries(short=50, long=2000), deadline=None)
def test_texts_are_terms_of_their_sort(tree: Tree) -> None:
    odd = t.var("distance(a, b)'", Scope.LAUNCH, -5, 5)
    vocabulary = Vocabulary()
    text = vocabulary.write(t.lt(t.add(term(tree), t.scale(3, odd)), t.ONE))
    sorts: dict[str, str] = {}
    for name, definition in vocabulary.definitions.items():
        sorts[name] = "Bool" if name[0] == "b" else "Int"
        assert (
            sort_of(definition, vocabulary.symbols, {each: sorts[each] for each in sorts if each != name})
            == sorts[name]
        )
    assert sort_of(text, vocabulary.symbols, sorts) == "Bool"


def test_several_contradictions_are_one_just_if_each_is() -> None:
    """What is known of the symbols of one alternative says nothing of another: an empty range spoils its own alone."""
    vocabulary = Vocabulary()
    size, nothing = vocabulary.write(M), vocabulary.write(t.var("nothing", Scope.LAUNCH, 5, 4))
    above, below, inside, empty = f"(< 100 {size})", f"(< {size} 0)", f"(< 1 {size})", f"(< 0 {nothing})"

    def answer(*alternatives: list[str]) -> Opinion:
        return SecondSolver().opinion(
            script_of_any(vocabulary.symbols, vocabulary.definitions, alternatives, exact=False)
        )

    assert answer([above], [below], [empty]) is Opinion.CONTRADICTION
    assert answer([above], [inside], [empty]) is Opinion.MODEL
    assert answer() is Opinion.CONTRADICTION
