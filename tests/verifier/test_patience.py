"""How long a wider contract asks whether integers fit, and that nothing else is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.verifier.budgets import FIT_LEAST, FIT_LEAST_AT_FIRST, FIT_SHARES, MOST_UNFIT
from tileverify.verifier.obligations.answers import Answer, Limits, Result
from tileverify.verifier.prover import AdaptiveBudget
from tileverify.verifier.smt import Solver
from tileverify.verifier.smt.tier_solver import TierSolver

FIRST, SECOND, GUARD = (t.lt(t.var(name, Scope.LAUNCH, 0, 100), t.const(5)) for name in ("a", "b", "c"))
OTHERS = [t.lt(t.var(f"n{number}", Scope.LAUNCH, 0, 100), t.const(5)) for number in range(50)]
LIMITS = Limits(linear=80_000, nonlinear=0, rounds=10, total=100_000)


class Fruitless(Solver):
    """Has no answers, and takes all that it may for each question."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked: list[Limits] = []

    @property
    def spent(self) -> int:
        return sum(each.total for each in self.asked)

    def decide(
        self,
        conditions: Iterable[Term],
        *,
        twins: Sequence[tuple[Term, Term]] = (),
        limits: Limits | None = None,
        model: bool = False,
    ) -> Result:
        assert limits is not None
        self.asked.append(limits)
        return Result(Answer.UNKNOWN, None)


def test_what_stayed_open_is_given_half_as_much_the_next_time() -> None:
    solver = Fruitless()
    patience = AdaptiveBudget(solver, LIMITS, 100_000_000)
    for conditions in ([FIRST], [FIRST, GUARD], [SECOND], [FIRST, GUARD]):
        patience.decide(conditions)
    assert [each.linear for each in solver.asked] == [80_000, 40_000, 40_000, 10_000]
    assert [each.total for each in solver.asked] == [100_000, 50_000, 50_000, 12_500]


def test_an_integer_is_given_less_for_each_other_that_stays_open() -> None:
    solver = Fruitless()
    patience = AdaptiveBudget(solver, LIMITS, 100_000_000, most_open=None)
    for other in OTHERS:
        patience.decide([other])
    assert [each.linear for each in solver.asked[:4]] == [80_000, 40_000, 20_000, 20_000]
    assert {each.linear for each in solver.asked[2:]} == {FIT_LEAST_AT_FIRST}
    assert len(solver.asked) == len(OTHERS)  # however many are open
    assert not patience.is_over()
    patience.decide([OTHERS[0], GUARD])
    assert solver.asked[-1].linear == FIT_LEAST


def test_nothing_more_is_asked_once_too_many_integers_stay_open() -> None:
    solver = Fruitless()
    patience = AdaptiveBudget(solver, LIMITS, 100_000_000)
    for other in OTHERS:
        patience.decide([other])
        patience.decide([other, GUARD])
    assert patience.is_over()
    assert len(solver.asked) == 2 * MOST_UNFIT - 1  # each twice, but the last
    alone = AdaptiveBudget(Fruitless(), LIMITS, None)
    for other in OTHERS:
        alone.decide([other])
    assert not alone.is_over()


def test_a_question_takes_a_share_of_what_is_left() -> None:
    solver = Fruitless()
    patience = AdaptiveBudget(solver, LIMITS, 300_000)
    for other in OTHERS:
        patience.decide([other])
    totals = [each.total for each in solver.asked]
    assert totals[0] == 300_000 // FIT_SHARES
    assert totals == sorted(totals, reverse=True)
    assert min(totals) >= FIT_LEAST
    assert sum(totals) <= 300_000
    assert patience.is_over()
    assert len(totals) < len(OTHERS)  # the rest was not asked at all


def test_a_contract_for_these_sizes_is_given_all_the_time() -> None:
    solver = Fruitless()
    patience = AdaptiveBudget(solver, LIMITS, None)
    for _ in range(30):
        patience.decide([FIRST])
    assert set(solver.asked) == {LIMITS}
    assert not patience.is_over()


def test_answers_are_those_of_the_decider() -> None:
    patience = AdaptiveBudget(Solver([FIRST]), LIMITS, 1_000_000)
    assert patience.decide([t.not_(FIRST)]).answer is Answer.UNSATISFIABLE
    assert patience.decide([SECOND]).answer is Answer.SATISFIABLE


def test_what_is_remembered_counts_for_narrower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Limits] = []

    def no_answer(
        self: Solver,
        conditions: tuple[Term, ...],
        twins: tuple[tuple[Term, Term], ...],
        limits: Limits,
        *,
        model: bool,
    ) -> Result:
        asked.append(limits)
        return Result(Answer.UNKNOWN, None)

    monkeypatch.setattr(Solver, "_decide", no_answer)
    solver = Solver([])
    half = replace(LIMITS, linear=40_000, total=50_000)
    with solver.remembering():
        for limits in (half, half, replace(half, linear=1), LIMITS, half):
            solver.decide([FIRST], limits=limits)
    assert asked == [half, LIMITS]


def test_a_definite_answer_counts_within_any_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    solver = Solver([FIRST])
    with solver.remembering():
        assert solver.decide([t.not_(FIRST)], limits=replace(LIMITS, linear=1)).answer is Answer.UNSATISFIABLE
        monkeypatch.setattr(Solver, "_decide", lambda *_, **__: pytest.fail("asked again"))
        assert solver.decide([t.not_(FIRST)], limits=LIMITS).answer is Answer.UNSATISFIABLE


def test_the_last_try_with_twins_has_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits for the non-linear tier alone have none; the patient try after it must not end before it began."""
    asked: list[Limits] = []

    def no_answer(self: TierSolver, limits: Limits, satisfied: object = None) -> tuple[Answer, int]:
        asked.append(limits)
        return Answer.UNKNOWN, 0

    monkeypatch.setattr(TierSolver, "settle", no_answer)
    monkeypatch.setattr(TierSolver, "check_exactly", lambda self, limit: Answer.UNKNOWN)
    m, n, k = (t.var(name, Scope.LAUNCH, 0) for name in ("m", "n", "k"))
    twins = t.mul(m, n), t.mul(m, k)
    Solver([t.lt(n, t.const(-1))]).decide(
        [t.eq(t.mul(*twins), t.const(77_777))], twins=[twins], limits=replace(LIMITS, nonlinear=1_000, rounds=0)
    )
    assert asked[-1].rounds > 0
    assert asked[-1].linear > 1_000
