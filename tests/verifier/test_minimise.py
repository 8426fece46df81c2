"""Minimising: lowest where the solver and the replay agree, never without a confirmed witness, never for long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.verifier.obligations.answers import Model
from tileverify.verifier.refute.described import DescribedNumbers
from tileverify.verifier.refute.witness import (
    MOST_QUESTIONS,
    MOST_REPLAYS,
    MOST_STEPS,
    Goal,
    Minimiser,
    distance_from_zero,
)
from tileverify.verifier.smt import Solver

X = t.var("x", Scope.LAUNCH, 0, 10_000)
Y = t.var("y", Scope.LAUNCH, 0, 10_000)
S = t.var("s", Scope.LAUNCH, -1000, 1000)
MOST = t.var("most", Scope.LAUNCH, 0, 10_000)


@dataclass(frozen=True, slots=True)
class Seen:
    model: Model
    steps: int = 1


class Replay:
    """Confirms the models of which ``holds`` is true."""

    def __init__(self, holds: Callable[[int, int, int], bool] = lambda x, y, s: True, steps: int = 1) -> None:
        self.holds = holds
        self.steps = steps
        self.asked: list[tuple[int, int, int]] = []

    def __call__(self, model: Model) -> Seen | None:
        numbers = values(model)
        self.asked.append(numbers)
        return Seen(model, self.steps) if self.holds(*numbers) else None


def values(model: Model) -> tuple[int, int, int]:
    x, y, s = (int(model.variables.get(term, 0)) for term in (X, Y, S))
    return x, y, s


def minimiser(
    start: tuple[int, int, int], replay: Replay, *facts: Term, steps: int = 1, questions: int = MOST_QUESTIONS
) -> Minimiser[Seen]:
    model = Model(dict(zip((X, Y, S), start, strict=True)), {})
    mentioned = (t.le(term, MOST) for term in (X, Y, S))
    return Minimiser(
        Seen(model, steps),
        Solver((*mentioned, *facts)),
        lambda model, term: DescribedNumbers(model)(term),
        replay,
        questions,
    )


def test_each_number_goes_as_low_as_the_conditions_let_it() -> None:
    replay = Replay()
    found = minimiser((500, 900, 7), replay, t.le(t.const(129), X), t.le(t.add(X, t.ONE), Y))
    best = found.lower([Goal(X), Goal(Y), Goal(distance_from_zero(S))])
    assert values(best.model) == (129, 130, 0)


def test_earlier_goals_weigh_more() -> None:
    together = t.eq(t.add(X, Y), t.const(100))
    assert values(minimiser((60, 40, 0), Replay(), together).lower([Goal(X), Goal(Y)]).model)[:2] == (0, 100)
    assert values(minimiser((60, 40, 0), Replay(), together).lower([Goal(Y), Goal(X)]).model)[:2] == (100, 0)


@pytest.mark.parametrize(("fact", "lowest"), [(t.lt(S, t.const(-5)), -6), (t.lt(t.const(5), S), 6), (t.TRUE, 0)])
def test_scalars_go_towards_zero_from_both_sides(fact: Term, lowest: int) -> None:
    start = (0, 0, -900 if lowest < 0 else 900)
    best = minimiser(start, Replay(), fact).lower([Goal(distance_from_zero(S))])
    assert values(best.model)[2] == lowest


def test_what_the_replay_does_not_see_is_no_witness() -> None:
    replay = Replay(lambda x, y, s: x >= 37)
    best = minimiser((1000, 0, 0), replay).lower([Goal(X), Goal(Y)])
    assert values(best.model)[0] == 37
    assert len(replay.asked) > 2, "it was not there at once"


def test_the_first_witness_is_kept_if_no_other_is_confirmed() -> None:
    start = (1000, 2000, 30)
    best = minimiser(start, Replay(lambda x, y, s: False)).lower([Goal(X), Goal(Y), Goal(distance_from_zero(S))])
    assert values(best.model) == start


def test_every_witness_that_is_returned_was_replayed() -> None:
    replay = Replay(lambda x, y, s: x % 3 == 0)
    best = minimiser((999, 50, 0), replay, t.le(t.const(10), X)).lower([Goal(X), Goal(Y)])
    assert values(best.model)[0] % 3 == 0
    assert values(best.model) == (999, 50, 0) or values(best.model) in replay.asked


def test_a_floor_is_respected_and_costs_no_question() -> None:
    found = minimiser((1, 300, 0), Replay())
    best = found.lower([Goal(X, 1), Goal(Y, 1)])
    assert values(best.model)[:2] == (1, 1)
    assert found.questions == MOST_QUESTIONS - 1


def test_preferences_hold_only_if_they_can() -> None:
    impossible = minimiser((0, 0, 0), Replay(), t.eq(X, t.ZERO))
    assert values(impossible.prefer([t.le(t.ONE, X)]).model)[0] == 0
    possible = minimiser((0, 0, 0), Replay())
    possible.prefer([t.le(t.ONE, X)])
    assert values(possible.lower([Goal(X), Goal(Y)]).model)[:2] == (1, 0)


def test_questions_are_counted() -> None:
    found = minimiser((10_000, 10_000, 0), Replay(lambda x, y, s: x >= 5003), questions=4)
    best = found.lower([Goal(X), Goal(Y)])
    assert found.questions == 0
    assert 5003 <= values(best.model)[0] < 10_000


def test_no_question_follows_once_the_resources_are_spent() -> None:
    start = (5000, 5000, 12)
    nothing = replace(minimiser(start, Replay()), resources=0)
    assert values(nothing.lower([Goal(X), Goal(Y)]).model) == start
    assert nothing.questions == MOST_QUESTIONS
    little = replace(minimiser(start, Replay()), resources=1)
    assert values(little.lower([Goal(X), Goal(Y)]).model)[0] == 0, "looked at between questions"
    assert little.questions == MOST_QUESTIONS - 1


def test_costly_replays_are_few() -> None:
    assert minimiser((1, 1, 1), Replay()).replays == MOST_REPLAYS
    replay = Replay(lambda x, y, s: x >= 37)
    best = minimiser((1000, 0, 0), replay, steps=MOST_STEPS // 2).lower([Goal(X)])
    assert len(replay.asked) == 2
    assert 37 < values(best.model)[0] <= 1000
    never = Replay()
    start = minimiser((999, 999, 999), never, steps=MOST_STEPS + 1)
    assert values(start.lower([Goal(X)]).model) == (999, 999, 999)
    assert never.asked == []


def test_the_same_question_has_the_same_answer() -> None:
    def run() -> tuple[list[tuple[int, int, int]], tuple[int, int, int]]:
        replay = Replay(lambda x, y, s: x > 20)
        product = t.le(t.const(600), t.mul(X, Y))
        best = minimiser((5000, 5000, 12), replay, product).lower([Goal(t.mul(X, Y)), Goal(X), Goal(Y)])
        return replay.asked, values(best.model)

    assert run() == run()
