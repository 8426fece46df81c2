"""Two clauses that are one are told as one."""

from __future__ import annotations

import pytest

from tileverify.contract import terms as t
from tileverify.contract.terms import Scope, Term
from tileverify.verifier.abduction.clauses import joined, spoken

M, N = (t.var(name, Scope.LAUNCH, 0, 2**31 - 1) for name in ("M", "N"))


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([t.le(N, M), t.ne(M, N)], ["N < M"]),
        ([t.ne(M, N), t.le(N, M)], ["N < M"]),
        ([t.le(N, M), t.ne(N, t.add(M, t.ONE))], ["N <= M", "M + 1 != N"]),
        ([t.le(t.const(3), M), t.ne(M, t.const(3)), t.ne(M, t.const(4))], ["M >= 5"]),
        ([t.le(M, t.const(9)), t.ne(M, t.const(9)), t.le(N, M)], ["M <= 8", "N <= M"]),
        ([t.le(t.const(3), M), t.ne(M, t.const(5))], ["M >= 3", "M != 5"]),
        ([t.le(N, M)], ["N <= M"]),
    ],
)
def test_a_border_that_is_left_out(conditions: list[Term], words: list[str]) -> None:
    clauses = [clause for condition in conditions for clause in spoken(condition)]
    assert len(clauses) == len(conditions)
    assert [clause.text for clause in joined(clauses)] == words
