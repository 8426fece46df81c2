"""Terms evaluated on numbers: used to turn models into launches, never to prove."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final, Protocol

from .. import terms as t
from . import Function, Term, TermKind
from .bits import OPERATIONS, number_of

Value = int | bool


class Values(Protocol):
    """What each variable is."""

    def __getitem__(self, variable: Term, /) -> Value: ...


def evaluate(
    term: Term,
    variables: Values,
    functions: Callable[[Function, tuple[Value, ...]], Value] | None = None,
    memo: dict[Term, Value] | None = None,
) -> Value:
    """The value of ``term``; a missing variable is a `KeyError`, a division by zero a `ZeroDivisionError`."""
    done: dict[Term, Value] = {} if memo is None else memo
    if term in done:
        return done[term]
    for sub in t.postorder(term, done):
        kind = sub.kind
        if kind is TermKind.VAR:
            done[sub] = variables[sub]
        elif kind is TermKind.CONST:
            done[sub] = sub.payload
        elif kind is TermKind.APPLY:
            if functions is None:
                raise KeyError(sub)
            done[sub] = functions(sub.function, tuple([done[a] for a in sub.args]))
        else:
            done[sub] = MEANINGS[kind](sub, [done[a] for a in sub.args])
    return done[term]


def _sum(term: Term, a: Sequence[Value]) -> Value:
    total: int
    total, coefficients = term.payload
    for coefficient, value in zip(coefficients, a, strict=True):
        total = total + coefficient * value
    return total


def _wrapped(term: Term, a: Sequence[Value]) -> Value:
    half = 1 << (int(term.payload) - 1)
    return (a[0] + half) % (2 * half) - half


def _truncated(a: Value, b: Value) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


MEANINGS: Final[dict[TermKind, Callable[[Term, Sequence[Value]], Value]]] = {
    TermKind.TRUE: lambda term, a: True,
    TermKind.FALSE: lambda term, a: False,
    TermKind.SUM: _sum,
    TermKind.PRODUCT: lambda term, a: prod(a),
    TermKind.DIV: lambda term, a: a[0] // a[1],
    TermKind.MOD: lambda term, a: a[0] % a[1],
    TermKind.TDIV: lambda term, a: _truncated(a[0], a[1]),
    TermKind.TMOD: lambda term, a: a[0] - a[1] * _truncated(a[0], a[1]),
    TermKind.MIN: lambda term, a: min(a[0], a[1]),
    TermKind.MAX: lambda term, a: max(a[0], a[1]),
    TermKind.WRAP: _wrapped,
    **{kind: lambda term, a: number_of(term.kind, a[0], a[1]) for kind in OPERATIONS},
    TermKind.ITE: lambda term, a: a[1] if a[0] else a[2],
    TermKind.NOT: lambda term, a: not a[0],
    TermKind.AND: lambda term, a: all(a),
    TermKind.OR: lambda term, a: any(a),
    TermKind.LT: lambda term, a: a[0] < a[1],
    TermKind.LE: lambda term, a: a[0] <= a[1],
    TermKind.EQ: lambda term, a: a[0] == a[1],
    TermKind.IFF: lambda term, a: a[0] == a[1],
}
"""The value of each kind of term but leaves and applications, from those of its arguments."""
