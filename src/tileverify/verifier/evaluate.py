"""Terms evaluated on numbers: used to turn models into launches, never to prove."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, assert_never

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.bits import number_of
from ..frontend.symbolic.terms import Function, Kind, Term

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
    for sub in t.postorder(term, done):
        done[sub] = _evaluate(sub, tuple([done[a] for a in sub.args]), variables, functions)
    return done[term]


def _evaluate(  # noqa: C901  one case per kind of term
    term: Term,
    a: tuple[Value, ...],
    variables: Values,
    functions: Callable[[Function, tuple[Value, ...]], Value] | None,
) -> Value:
    match term.kind:
        case Kind.CONST:
            return term.value
        case Kind.VAR:
            return variables[term]
        case Kind.TRUE | Kind.FALSE:
            return term.kind is Kind.TRUE
        case Kind.APPLY:
            if functions is None:
                raise KeyError(term)
            return functions(term.function, a)
        case Kind.SUM:
            constant, coefficients = term.payload
            return int(constant + sum(c * v for c, v in zip(coefficients, a, strict=True)))
        case Kind.PRODUCT:
            result = 1
            for value in a:
                result *= value
            return result
        case Kind.DIV:
            return a[0] // a[1]
        case Kind.MOD:
            return a[0] % a[1]
        case Kind.TDIV:
            return _truncated(a[0], a[1])
        case Kind.TMOD:
            return a[0] - a[1] * _truncated(a[0], a[1])
        case Kind.MIN:
            return min(a[0], a[1])
        case Kind.MAX:
            return max(a[0], a[1])
        case Kind.WRAP:
            half = 1 << (int(term.payload) - 1)
            return (a[0] + half) % (2 * half) - half
        case Kind.BITAND | Kind.BITOR | Kind.BITXOR | Kind.SHL | Kind.SHR:
            return number_of(term.kind, a[0], a[1])
        case Kind.ITE:
            return a[1] if a[0] else a[2]
        case Kind.NOT:
            return not a[0]
        case Kind.AND:
            return all(a)
        case Kind.OR:
            return any(a)
        case Kind.LT:
            return a[0] < a[1]
        case Kind.LE:
            return a[0] <= a[1]
        case Kind.EQ | Kind.IFF:
            return a[0] == a[1]
        case _ as unreachable:
            assert_never(unreachable)


def _truncated(a: Value, b: Value) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient
