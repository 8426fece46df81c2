"""Terms evaluated on numbers: used to turn models into launches, never to prove."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final, Protocol

from .. import terms as t
from . import Function, Kind, Term
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
        if kind is Kind.VAR:
            done[sub] = variables[sub]
        elif kind is Kind.CONST:
            done[sub] = sub.payload
        elif kind is Kind.APPLY:
            if functions is None:
                raise KeyError(sub)
            done[sub] = functions(sub.function, tuple([done[a] for a in sub.args]))
        else:
            done[sub] = _VALUES[kind](sub, [done[a] for a in sub.args])
    return done[term]


def _sum(term: Term, a: Sequence[Value]) -> Value:
    total, coefficients = term.payload
    for coefficient, value in zip(coefficients, a, strict=True):
        total += coefficient * value
    return int(total)


def _wrapped(term: Term, a: Sequence[Value]) -> Value:
    half = 1 << (int(term.payload) - 1)
    return (a[0] + half) % (2 * half) - half


def _truncated(a: Value, b: Value) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


_VALUES: Final[dict[Kind, Callable[[Term, Sequence[Value]], Value]]] = {
    Kind.TRUE: lambda term, a: True,
    Kind.FALSE: lambda term, a: False,
    Kind.SUM: _sum,
    Kind.PRODUCT: lambda term, a: prod(a),
    Kind.DIV: lambda term, a: a[0] // a[1],
    Kind.MOD: lambda term, a: a[0] % a[1],
    Kind.TDIV: lambda term, a: _truncated(a[0], a[1]),
    Kind.TMOD: lambda term, a: a[0] - a[1] * _truncated(a[0], a[1]),
    Kind.MIN: lambda term, a: min(a[0], a[1]),
    Kind.MAX: lambda term, a: max(a[0], a[1]),
    Kind.WRAP: _wrapped,
    **{kind: lambda term, a: number_of(term.kind, a[0], a[1]) for kind in OPERATIONS},
    Kind.ITE: lambda term, a: a[1] if a[0] else a[2],
    Kind.NOT: lambda term, a: not a[0],
    Kind.AND: lambda term, a: all(a),
    Kind.OR: lambda term, a: any(a),
    Kind.LT: lambda term, a: a[0] < a[1],
    Kind.LE: lambda term, a: a[0] <= a[1],
    Kind.EQ: lambda term, a: a[0] == a[1],
    Kind.IFF: lambda term, a: a[0] == a[1],
}
"""The value of each kind of term but leaves and applications, from those of its arguments."""
