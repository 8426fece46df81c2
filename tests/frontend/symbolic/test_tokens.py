"""Tokens: joins, merges, and what loops carry, against a loop that is run step by step."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tileverify.contract.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Function,
    Scope,
    Sort,
    Term,
    add,
    and_,
    apply,
    const,
    eq,
    le,
    lt,
    or_,
    sub,
    var,
)
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

K = var("k", Scope.ITERATION, 0)
E = earlier(K)
C = var("c", Scope.BLOCK, sort=Sort.BOOL)
N = var("n", Scope.LAUNCH, 0, 100)


def test_join_keeps_the_weaker_condition() -> None:
    joined = join([Token({0: lt(E, K), 1: eq(E, K)}), Token({0: eq(E, K), 1: TRUE})])
    assert joined.awaits == {0: le(E, K), 1: TRUE}


def test_merge_of_branches_is_must() -> None:
    merged = either_way(C, Token({0: TRUE, 1: TRUE}), Token({1: TRUE}))
    assert merged.awaits == {0: C, 1: TRUE}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (eq(E, K), le(E, K), True),
        (lt(E, K), le(E, K), True),
        (le(E, K), lt(E, K), False),
        (eq(E, sub(K, ONE)), lt(E, K), True),
        (and_(C, eq(E, K)), le(E, K), True),
        (or_(lt(E, K), eq(E, K)), le(E, K), True),
        (C, eq(E, K), False),
        (FALSE, C, True),
        (lt(E, sub(K, ONE)), lt(E, K), True),
    ],
)
def test_entails(a: Term, b: Term, expected: bool) -> None:
    assert entails(a, b) is expected


def test_weaken_is_or() -> None:
    assert weaken(C, eq(E, K)) is or_(C, eq(E, K))
    assert weaken(lt(E, K), eq(E, K)) is le(E, K)


def carried(
    *nexts: dict[Key, Term], inits: list[Token] | None = None, inside: frozenset[int] = frozenset({0, 1})
) -> CarriedTokens:
    loop = CarriedLoop(0, K, tuple(range(len(nexts))), inside)
    return CarriedTokens(loop, inits or [Token({9: TRUE})] * len(nexts), [Token(awaits) for awaits in nexts])


def test_a_chained_token_awaits_all_earlier_iterations_and_what_was_before() -> None:
    tokens = carried({0: eq(E, K), Carried(0, 0): TRUE})
    assert tokens.at(K)[0].awaits == {9: TRUE, 0: lt(E, K)}
    assert tokens.left_by_exhaustion(N)[0].awaits == {9: TRUE, 0: TRUE}


def test_a_fresh_token_awaits_the_previous_iteration_only() -> None:
    tokens = carried({0: eq(E, K)})
    assert tokens.at(K)[0].awaits == {9: eq(K, ZERO), 0: eq(E, sub(K, ONE))}
    assert tokens.left_by_exhaustion(N)[0].awaits == {9: eq(N, ZERO), 0: eq(E, sub(N, ONE))}


def test_a_token_from_outside_that_is_joined_every_time_is_always_awaited() -> None:
    tokens = carried({9: TRUE, 0: eq(E, K)})
    assert tokens.at(K)[0].awaits == {9: TRUE, 0: eq(E, sub(K, ONE))}


def test_last_store_and_last_access_of_cutile() -> None:
    """load waits for the last store; store waits for all: two tokens, each includes both."""
    both: dict[Key, Term] = {0: eq(E, K), 1: eq(E, K), Carried(0, 0): TRUE, Carried(0, 1): TRUE}
    tokens = carried(both, both)
    assert [token.awaits for token in tokens.at(K)] == [{9: TRUE, 0: lt(E, K), 1: lt(E, K)}] * 2


def test_a_break_awaits_everything_up_to_its_iteration() -> None:
    last = var("last", Scope.BLOCK, 0)
    token = Token({0: le(E, K), 1: lt(E, K), 9: TRUE})
    loop = CarriedLoop(0, K, (), frozenset({0, 1}))
    assert left_by_break(token, loop, last).awaits == {0: TRUE, 1: lt(E, last), 9: TRUE}


def test_what_holds_of_this_iteration_is_not_claimed_of_others() -> None:
    """Behind an inner loop with T(k) trips its instances are below T(k), those of another k below that one's."""
    outer = var("o", Scope.ITERATION, 0)
    trips = apply(Function("trips", Scope.BLOCK, 0), outer)
    known = lt(E, trips)
    here, there = and_(eq(earlier(outer), outer), known), and_(lt(earlier(outer), outer), known)
    assert taken_for_granted(here, known, [outer]) is eq(earlier(outer), outer)
    assert taken_for_granted(there, known, [outer]) is there
    assert taken_for_granted(or_(here, there), known, [outer]) is or_(eq(earlier(outer), outer), there)
    assert taken_for_granted(known, known, []) is TRUE


def test_own_instance() -> None:
    other = var("j", Scope.ITERATION, 0)
    assert own(3, [K, other]).awaits == {3: and_(eq(E, K), eq(earlier(other), other))}
    assert own(3, []).awaits == {3: TRUE}


# --------------------------------------------------------------------------------- against a run of the loop
def random_nexts(rng: random.Random, count: int) -> list[dict[Key, Term]]:
    conditions = [TRUE, TRUE, TRUE, lt(K, const(2)), eq(K, const(1)), le(const(2), K)]
    nexts: list[dict[Key, Term]] = []
    for _ in range(count):
        awaits: dict[Key, Term] = {}
        for other in range(count):
            if rng.random() < 0.5:
                awaits[Carried(0, other)] = rng.choice(conditions)
        for site in (0, 1):
            if rng.random() < 0.5:
                awaits[site] = and_(eq(E, K), rng.choice(conditions))
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
    inits = [rng.choice([EMPTY, Token({9: TRUE}), Token({8: TRUE})]) for _ in range(count)]
    tokens = carried(*nexts, inits=inits)
    claims = tokens.at(K)
    for k, really in enumerate(run(nexts, inits, 5)):
        behind = tokens.left_by_exhaustion(const(k))
        for claimed, exhausted, actual in zip(claims, behind, really, strict=True):
            for instance in range(k):
                for site in (0, 1):
                    for token in (claimed, exhausted):
                        said = evaluate(token.awaits.get(site, FALSE), {K: k, E: instance})
                        assert not said or (site, instance) in actual
            for site in (8, 9):
                for token in (claimed, exhausted):
                    assert not evaluate(token.awaits.get(site, FALSE), {K: k}) or (site, -1) in actual


def test_conditions_of_other_iterations_are_taken_at_that_iteration() -> None:
    """A store under ``k < 2`` is awaited later exactly where it happened."""
    tokens = carried({0: and_(eq(E, K), lt(K, const(2))), Carried(0, 0): TRUE}, inits=[EMPTY])
    assert tokens.at(K)[0].awaits == {0: and_(lt(E, K), lt(E, const(2)))}
    assert add(E, ZERO) is E
