"""A number that is chosen once for a loop: whatever the checker lets pass of such a claim, there is one number for it.

Claims R(k, f) are drawn as tables for small k and f; beyond them f decides nothing.  Questions are answered by trying
all numbers.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tileverify.checker.agreement import Comparing, Misread, NotFollowed
from tileverify.checker.steps_loops import check_handed_on
from tileverify.contract.terms import FALSE, Function, Scope, Term, and_, apply, const, eq, le, or_, var
from tileverify.contract.terms.evaluate import evaluate

ITERATIONS = 4
NUMBERS = 4  # from 1 on; larger ones are all alike
K = var("k0", Scope.ITERATION, 0)
CHOSEN = apply(Function("overflow0.0", Scope.BLOCK, 1))
OTHER = var("another number", Scope.ITERATION, 1)

Table = Sequence[Sequence[bool]]


def claim(table: Table) -> Term:
    """R(k, f) as in ``table``; nothing is said of later iterations."""
    rows = []
    for k, row in enumerate(table):
        allowed = [eq(CHOSEN, const(f + 1)) for f in range(NUMBERS) if row[f]]
        rows.append(and_(eq(K, const(k)), or_(*allowed, le(const(NUMBERS + 1), CHOSEN) if row[NUMBERS] else FALSE)))
    return or_(*rows, le(const(ITERATIONS), K))


def excluded(conditions: Sequence[Term]) -> bool:
    whole = and_(*conditions)
    numbers = range(1, NUMBERS + 3)
    return not any(
        evaluate(whole, {K: k, OTHER: g}, lambda _, __, f=f: f)  # type: ignore[misc]
        for k, f, g in itertools.product(range(ITERATIONS), numbers, numbers)
    )


def let_pass(table: Table) -> bool:
    if not all(table[0]):  # it has to hold at first, whatever is chosen
        return False
    ev = cast(Any, SimpleNamespace(compare=Comparing(excluded)))
    reached = claim(table)
    try:
        check_handed_on(ev, reached, reached, K, CHOSEN)
    except (Misread, NotFollowed):
        return False
    return True


def drawn(rng: random.Random) -> list[list[bool]]:
    """Mostly tables as they are of counters: nothing to choose for a while, then one number, or few."""
    table = [[True] * (NUMBERS + 1)]
    wraps = rng.randrange(1, ITERATIONS + 2)
    for k in range(1, ITERATIONS):
        row = [True] * (NUMBERS + 1) if k < wraps else [f + 1 == wraps for f in range(NUMBERS + 1)]
        table.append([each != (rng.random() < 0.05) for each in row])
    return table


@pytest.mark.parametrize("chunk", range(3))
def test_what_passes_has_a_number(chunk: int) -> None:
    rng = random.Random(chunk)
    passed = failed = 0
    for _ in range(100):
        table = drawn(rng)
        there_is = any(all(row[f] for row in table) for f in range(NUMBERS + 1))
        if let_pass(table):
            passed += 1
            assert there_is, table
        elif not there_is:
            failed += 1
    assert passed > 5
    assert failed > 5


def test_a_number_has_to_stay() -> None:
    late = [[True] * 5, [True] * 5, [False, True, False, False, False], [True, False, True, True, True]]
    assert not let_pass(late)
    assert let_pass([*late[:3], [False, True, False, False, False]])
