"""Clauses are written in the language that launch specs are read in."""

from __future__ import annotations

import pytest

from tileverify.contract import terms as t
from tileverify.contract.expression_parser import parse_condition
from tileverify.contract.terms import Function, Scope, Term
from tileverify.contract.variables import BID, GRID
from tileverify.verifier.abduction.clauses import clause_text

M, N = (t.var(name, Scope.LAUNCH, 0, 2**31 - 1) for name in "MN")
P = t.var("p", Scope.LAUNCH, -(2**31), 2**31 - 1)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (t.le(GRID[0], t.ceildiv(N, t.const(128))), "grid.x <= cdiv(N, 128)"),
        (t.eq(t.floormod(N, t.const(16)), t.ZERO), "N % 16 == 0"),
        (t.lt(t.ZERO, t.ceildiv(N, t.const(128))), "N >= 1"),
        (t.lt(t.unsigned(32, P), N), "p >= 0 and p < N"),
        (t.ne(M, N), "M != N"),
        (t.or_(t.lt(M, N), t.le(t.const(4), M)), "M >= 4 or M < N"),
        (t.le(t.add(t.scale(2, M), t.neg(N), t.const(3)), t.mul(M, N)), "2 * M - N + 3 <= M * N"),
        (t.eq(t.minimum(M, N), t.floordiv(M, N)), "M // N == min(M, N)"),
        (
            t.le(GRID[0], t.ceildiv(t.unsigned(16, t.wrap(16, N)), t.const(128))),
            "grid.x <= cdiv(((N + 32768) % 2 ** 16 - 32768) % 2 ** 16, 128)",
        ),
        (t.iff(t.eq(M, t.ZERO), t.lt(N, M)), "N < M and M == 0 or M <= N and M != 0"),
        (t.not_(t.iff(t.eq(M, t.ZERO), t.lt(N, M))), "N < M and M != 0 or M <= N and M == 0"),
        (t.lt(t.wrap(32, t.mul(M, N)), N), "(M * N + 2 ** 31) % 2 ** 32 - 2 ** 31 < N"),
    ],
)
def test_text(condition: Term, text: str) -> None:
    written = clause_text(condition)
    assert written == text
    parse_condition(written)


IDX = t.apply(Function("idx", Scope.LAUNCH, array="idx"), M)


@pytest.mark.parametrize(
    "condition",
    [
        t.le(t.ONE, t.apply(Function("xor32", Scope.LAUNCH, 0), M, N)),
        t.lt(IDX, N),
        t.le(GRID[0], t.sub(N, BID[0])),
        t.ne(t.floordiv(M, t.ZERO), N),
    ],
    ids=["bit operation", "contents", "block id", "division by zero"],
)
def test_nothing_is_said_that_a_launcher_cannot_check(condition: Term) -> None:
    assert clause_text(condition) is None
