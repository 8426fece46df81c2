"""Terms as a table: each a row of its kind, its payload and the numbers of earlier rows.

Reading builds them anew by the constructors of terms, so that a table cannot hold a term that claims more of itself
(its interval) than its parts give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...contract import terms as t
from ...contract.terms import Function, Scope, Sort, Symbol, Term, TermKind

_TWO: Final[dict[TermKind, Callable[[Term, Term], Term]]] = {
    TermKind.DIV: t.floordiv,
    TermKind.MOD: t.floormod,
    TermKind.TDIV: t.truncdiv,
    TermKind.TMOD: t.truncmod,
    TermKind.MIN: t.minimum,
    TermKind.MAX: t.maximum,
    TermKind.BITAND: t.bit_and,
    TermKind.BITOR: t.bit_or,
    TermKind.BITXOR: t.bit_xor,
    TermKind.SHL: t.shift_left,
    TermKind.SHR: t.shift_right,
    TermKind.LT: t.lt,
    TermKind.LE: t.le,
    TermKind.EQ: t.eq,
    TermKind.IFF: t.iff,
}
_MANY: Final[dict[TermKind, Callable[..., Term]]] = {
    TermKind.PRODUCT: lambda *factors: t.product(factors),
    TermKind.ITE: t.ite,
    TermKind.NOT: t.not_,
    TermKind.AND: t.and_,
    TermKind.OR: t.or_,
}
_OF_CONDITIONS: Final = (TermKind.NOT, TermKind.AND, TermKind.OR, TermKind.IFF)


class TermWriter:
    """Numbers for terms; ``rows`` is the table."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._numbers: dict[Term, int] = {}

    def number(self, term: Term) -> int:
        for part in t.postorder(term, self._numbers):
            self._numbers[part] = len(self.rows)
            self.rows.append([part.kind.value, _payload(part), [self._numbers[arg] for arg in part.args]])
        return self._numbers[term]


class TermReader:
    """The terms of a table; raises `ValueError` for one that is none."""

    def __init__(self, rows: Sequence[Sequence[Any]]) -> None:
        self._terms: list[Term] = []
        for kind, payload, args in rows:
            if not all(type(arg) is int and 0 <= arg < len(self._terms) for arg in args):
                raise ValueError("a term is made of one that is not there")
            self._terms.append(_term(TermKind(kind), payload, tuple(self._terms[arg] for arg in args)))

    def term(self, number: int) -> Term:
        if not 0 <= number < len(self._terms):
            raise ValueError("a term that is not there is referred to")
        return self._terms[number]


def function_row(function: Function) -> list[Any]:
    return [function.name, function.scope.value, function.low, function.high, function.sort.value, function.array]


def function_of(row: Any) -> Function:
    name, scope, low, high, sort, array = row
    _check(isinstance(name, str) and (array is None or isinstance(array, str)))
    return Function(name, Scope(scope), _integer(low), _integer(high), Sort(sort), array)


def _payload(term: Term) -> Any:
    match term.payload:
        case Symbol(name, scope, low, high, sort):
            return [name, scope.value, low, high, sort.value]
        case Function():
            return function_row(term.payload)
        case payload:
            return payload


def _term(kind: TermKind, payload: Any, args: tuple[Term, ...]) -> Term:
    match kind:
        case TermKind.CONST:
            _check(type(payload) is int and not args)
            return t.const(payload)
        case TermKind.VAR:
            name, scope, low, high, sort = payload
            _check(isinstance(name, str) and not args)
            return t.var(name, Scope(scope), _integer(low), _integer(high), Sort(sort))
        case TermKind.TRUE | TermKind.FALSE:
            return t.boolean(kind is TermKind.TRUE)
        case TermKind.APPLY:
            return t.apply(function_of(payload), *args)
        case TermKind.SUM:
            constant, factors = payload
            _check(all(type(each) is int for each in (constant, *factors)) and len(factors) == len(args))
            return t.add(t.const(constant), *(t.scale(factor, arg) for factor, arg in zip(factors, args, strict=True)))
        case TermKind.WRAP:
            _check(type(payload) is int and 1 <= payload <= 64)
            (arg,) = args
            return t.wrap(payload, arg)
    _check(len(args) == 2 if kind in _TWO else len(args) >= 1)
    if kind is TermKind.ITE:
        test, then, otherwise = args
        _check(test.sort is Sort.BOOL and then.sort is otherwise.sort)
    else:
        wanted = Sort.BOOL if kind in _OF_CONDITIONS else Sort.INT
        _check(all(arg.sort is wanted for arg in args))
    return _TWO[kind](*args) if kind in _TWO else _MANY[kind](*args)


def _integer(number: Any) -> int | None:
    _check(number is None or type(number) is int)
    return None if number is None else int(number)


def _check(right: bool) -> None:
    if not right:
        raise ValueError("a term is malformed")
