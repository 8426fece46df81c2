"""Tokens: joins, merges, and what loops carry, against a loop that is run step by step."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tileverify.contract import terms as t
from tileverify.contract.terms import Function, Scope, Sort, Term
from tileverify.contract.terms.evaluate import evaluate
from tileverify.frontend.symbolic.summary import earlier
from tileverify.frontend.symbolic.tokens import (
    EMPTY,
    Carried,
    CarriedLoop,
    CarriedTokens,
    Key,
    Token,
    either_way,
    entails,
    join,
    left_by_break,
    own,
    taken_for_granted,
    weaken,
)

K = t.var("k", Scope.ITERATION, 0)
E = earlier(K)
C = t.var("c", Scope.BLOCK, sort=Sort.BOOL)
N = t.var("n", Scope.LAUNCH, 0, 100)


def test_join_keeps_the_weaker_condition() -> None:
    joined = join([Token({0: t.lt(E, K), 1: t.eq(E, K)}), Token({0: t.eq(E, K), 1: t.TRUE})])
    assert joined.awaits == {0: t.le(E, K), 1: t.TRUE}


def test_merge_of_branches_is_must() -> None:
    merged = either_way(C, Token({0: t.TRUE, 1: t.TRUE}), Token({1: t.TRUE}))
    assert merged.awaits == {0: C, 1: t.TRUE}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (t.eq(E, K), t.le(E, K), True),
        (t.lt(E, K), t.le(E, K), True),
        (t.le(E, K), t.lt(E, K), False),
        (t.eq(E, t.sub(K, t.ONE)), t.lt(E, K), True),
        (t.and_(C, t.eq(E, K)), t.le(E, K), True),
        (t.or_(t.lt(E, K), t.eq(E, K)), t.le(E, K), True),
        (C, t.eq(E, K), False),
        (t.FALSE, C, True),
        (t.lt(E, t.sub(K, t.ONE)), t.lt(E, K), True),
    ],
)
def test_entails(a: Term, b: Term, expected: bool) -> None:
    assert entails(a, b) is expected


def test_weaken_is_or() -> None:
    assert weaken(C, t.eq(E, K)) is t.or_(C, t.eq(E, K))
    assert weaken(t.lt(E, K), t.eq(E, K)) is t.le(E, K)


def carried(
    *nexts: dict[Key, Term], inits: list[Token] | None = None, inside: frozenset[int] = frozenset({0, 1})
) -> CarriedTokens:
    loop = CarriedLoop(0, K, tuple(range(len(nexts))), inside)
    return CarriedTokens(loop, inits or [Token({9: t.TRUE})] * len(nexts), [Token(awaits) for awaits in nexts])


def test_a_chained_token_awaits_all_earlier_iterations_and_what_was_before() -> None:
    tokens = carried({0: t.eq(E, K), Carried(0, 0): t.TRUE})
    assert tokens.at(K)[0].awaits == {9: t.TRUE, 0: t.lt(E, K)}
    assert tokens.left_by_exhaustion(N)[0].awaits == {9: t.TRUE, 0: t.TRUE}


def test_a_fresh_token_awaits_the_previous_iteration_only() -> None:
    tokens = carried({0: t.eq(E, K)})
    assert tokens.at(K)[0].awaits == {9: t.eq(K, t.ZERO), 0: t.eq(E, t.sub(K, t.ONE))}
    assert tokens.left_by_exhaustion(N)[0].awaits == {9: t.eq(N, t.ZERO), 0: t.eq(E, t.sub(N, t.ONE))}


def test_a_token_from_outside_that_is_joined_every_time_is_always_awaited() -> None:
    tokens = carried({9: t.TRUE, 0: t.eq(E, K)})
    assert tokens.at(K)[0].awaits == {9: t.TRUE, 0: t.eq(E, t.sub(K, t.ONE))}


def test_last_store_and_last_access_of_cutile() -> None:
    """load waits for the last store; store waits for all: two tokens, each includes both."""
    both: dict[Key, Term] = {0: t.eq(E, K), 1: t.eq(E, K), Carried(0, 0): t.TRUE, Carried(0, 1): t.TRUE}
    tokens = carried(both, both)
    assert [token.awaits for token in tokens.at(K)] == [{9: t.TRUE, 0: t.lt(E, K), 1: t.lt(E, K)}] * 2


def test_a_break_awaits_everything_up_to_its_iteration() -> None:
    last = t.var("last", Scope.BLOCK, 0)
    token = Token({0: t.le(E, K), 1: t.lt(E, K), 9: t.TRUE})
    loop = CarriedLoop(0, K, (), frozenset({0, 1}))
    assert left_by_break(token, loop, last).awaits == {0: t.TRUE, 1: t.lt(E, last), 9: t.TRUE}


def test_what_holds_of_this_iteration_is_not_claimed_of_others() -> None:
    """Behind an inner loop with T(k) trips its instances are below T(k), those of another k below that one's."""
    outer = t.var("o", Scope.ITERATION, 0)
    trips = t.apply(Function("trips", Scope.BLOCK, 0), outer)
    known = t.lt(E, trips)
    here, there = t.and_(t.eq(earlier(outer), outer), known), t.and_(t.lt(earlier(outer), outer), known)
    assert taken_for_granted(here, known, [outer]) is t.eq(earlier(outer), outer)
    assert taken_for_granted(there, known, [outer]) is there
    assert taken_for_granted(t.or_(here, there), known, [outer]) is t.or_(t.eq(earlier(outer), outer), there)
    assert taken_for_granted(known, known, []) is t.TRUE


def test_own_instance() -> None:
    other = t.var("j", Scope.ITERATION, 0)
    assert own(3, [K, other]).awaits == {3: t.and_(t.eq(E, K), t.eq(earlier(other), other))}
    assert own(3, []).awaits == {3: t.TRUE}


# --------------------------------------------------------------------------------- against a run of the loop
def random_nexts(rng: random.Random, count: int) -> list[dict[Key, Term]]:
    conditions = [t.TRUE, t.TRUE, t.TRUE, t.lt(K, t.const(2)), t.eq(K, t.const(1)), t.le(t.const(2), K)]
    nexts: list[dict[Key, Term]] = []
    for _ in range(count):
        awaits: dict[Key, Term] = {}
        for other in range(count):
            if rng.random() < 0.5:
                awaits[Carried(0, other)] = rng.choice(conditions)
        for site in (0, 1):
            if rng.random() < 0.5:
                awaits[site] = t.and_(t.eq(E, K), rng.choice(conditions))
        if rng.random() < 0.4:
            awaits[8] = rng.choice(conditions)
        nexts.append(awaits)
    return nexts


def run(nexts: list[dict[Key, Term]], inits: list[Token], trips: int) -> Iterator[list[set[tuple[int, int]]]]:
    """What each carried token waits for when iteration 0, 1, .. trips begins: (site, its iteration), -1 outside."""
    now = [{(int(key), -1) for key in token.awaits if isinstance(key, int)} for token in inits]
    for k in range(trips + 1):
        yield now
        after = []
        for awaits in nexts:
            found: set[tuple[int, int]] = set()
            for key, condition in awaits.items():
                if not evaluate(condition, {K: k, E: k}):
                    continue
                if isinstance(key, Carried):
                    found |= now[key.index]
                else:
                    found.add((key, -1 if key > 1 else k))
            after.append(found)
        now = after


@pytest.mark.parametrize("seed", range(300))
def test_carried_tokens_never_claim_more_than_a_run_shows(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 4)
    nexts = random_nexts(rng, count)
    inits = [rng.choice([EMPTY, Token({9: t.TRUE}), Token({8: t.TRUE})]) for _ in range(count)]
    tokens = carried(*nexts, inits=inits)
    claims = tokens.at(K)
    for k, really in enumerate(run(nexts, inits, 5)):
        behind = tokens.left_by_exhaustion(t.const(k))
        for claimed, exhausted, actual in zip(claims, behind, really, strict=True):
            for instance in range(k):
                for site in (0, 1):
                    for token in (claimed, exhausted):
                        said = evaluate(token.awaits.get(site, t.FALSE), {K: k, E: instance})
                        assert not said or (site, instance) in actual
            for site in (8, 9):
                for token in (claimed, exhausted):
                    assert not evaluate(token.awaits.get(site, t.FALSE), {K: k}) or (site, -1) in actual


def test_conditions_of_other_iterations_are_taken_at_that_iteration() -> None:
    """A store under ``k < 2`` is awaited later exactly where it happened."""
    tokens = carried({0: t.and_(t.eq(E, K), t.lt(K, t.const(2))), Carried(0, 0): t.TRUE}, inits=[EMPTY])
    assert tokens.at(K)[0].awaits == {0: t.and_(t.lt(E, K), t.lt(E, t.const(2)))}
    assert t.add(E, t.ZERO) is E
