"""Questions with any numbers below their divisors in the place of remainders."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.verifier.obligations.answers import Answer
from tileverify.verifier.obligations.lemmas import Lemma
from tileverify.verifier.smt import Solver
from tileverify.verifier.smt.remainders import WeakerQuestion

M, N, K = (t.var(name, Scope.LAUNCH, 0, 2**31 - 1) for name in "MNK")
BLOCK, LANE = t.var("bid.x", Scope.BLOCK, 0, 2**24), t.var("l0", Scope.LANE, 0, 63)
GROUPS = t.scale(8, t.ceildiv(N, t.const(64)))
SIZE = t.minimum(t.const(8), t.sub(t.ceildiv(M, t.const(64)), t.scale(8, t.floordiv(BLOCK, GROUPS))))
ROW = t.add(t.scale(64, t.truncmod(t.floormod(BLOCK, GROUPS), SIZE)), LANE)
OFFSET = t.add(t.mul(t.floormod(ROW, M), K), LANE)
FACTS = (t.le(t.ONE, M), t.le(t.const(64), K), t.lt(t.mul(M, K), t.const(2**31)))


def divided(numbers: dict[Term, int], term: Term) -> bool:
    try:
        evaluate(term, numbers)
    except ZeroDivisionError:
        return False
    return True


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=4), st.sampled_from((t.floormod, t.truncmod)), st.booleans())
def test_who_answers_the_question_answers_the_weaker_one(numbers: list[int], remainder: object, nested: bool) -> None:
    variables = [t.var(name, Scope.BLOCK) for name in "abcd"]
    values = dict(zip(variables, numbers, strict=True))
    a, b, c, d = variables
    inner = remainder(a, b)  # type: ignore[operator]
    outer = remainder(t.add(inner, c), t.add(d, inner) if nested else d)  # type: ignore[operator]
    if not divided(values, outer):
        return
    condition = t.eq(t.add(t.mul(outer, c), inner), t.const(int(evaluate(t.add(t.mul(outer, c), inner), values))))
    weaker = WeakerQuestion.of([condition])
    assert weaker is not None
    values |= {variable: int(evaluate(term, values)) for variable, term in weaker.remainders.items()}
    assert all(evaluate(each, values) for each in weaker.conditions)


def test_a_question_without_such_remainders_stays() -> None:
    assert WeakerQuestion.of([t.le(t.floormod(BLOCK, t.const(8)), LANE)]) is None


def test_an_offset_of_a_remainder_fits_if_the_array_does() -> None:
    question = t.le(t.const(2**31), OFFSET)
    plain, explained = (Solver(FACTS, explain=explain).decide([question]) for explain in (False, True))
    assert plain.answer is explained.answer is Answer.UNSATISFIABLE
    assert explained.proof is not None
    spoken = {leaf.symbol.name for lemma in explained.proof.lemmas for leaf in lemma.formula.free}
    assert spoken <= {"M", "N", "K", "bid.x", "l0"}, "of the question's own terms"


def test_an_offset_one_row_further_does_not() -> None:
    question = t.le(t.const(2**31), t.add(OFFSET, K))
    assert Solver(FACTS).decide([question]).answer is not Answer.UNSATISFIABLE


def test_lemmas_are_about_the_remainders_in_full() -> None:
    weaker = WeakerQuestion.of([t.le(OFFSET, t.ZERO)])
    assert weaker is not None
    (variable, remainder), *_ = weaker.remainders.items()
    (lemma,) = weaker.in_full([Lemma(t.le(t.ZERO, variable), "zero", (variable, 3))])
    assert variable not in lemma.formula.free
    assert lemma.args[1] == 3
    for block, m in ((0, 5), (77, 130), (500, 64)):
        numbers = {BLOCK: block, M: m, N: 200, K: 64, LANE: 7}
        assert evaluate(lemma.args[0], numbers) == evaluate(remainder, numbers)  # type: ignore[arg-type]
