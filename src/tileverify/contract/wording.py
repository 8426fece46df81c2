"""Launch-only conditions in the language of launch specs (``docs/specs.md``): ``grid.x <= cdiv(N, 128)``."""

from __future__ import annotations

import re
from functools import reduce

from . import terms as t
from .expressions import print_expression
from .launch import Apply, Expression, Name, Number
from .terms import Scope, Sort, Term, TermKind
from .terms.rendering import unsigned_reading


class _Unspeakable(Exception):
    """A term that no expression of a launch spec can stand for."""


def clause_text(condition: Term) -> str | None:
    """``condition`` as a ``requires`` entry that a user could have written.

    ``None`` where the language has no words for it: a bit operation that the prover left uninterpreted, contents of
    an array, anything that a launcher does not know.  Addresses appear as ``x.address``, which only a launcher knows;
    machine wraps and unsigned readings are spelled out.
    """
    try:
        return print_expression(_expression(t.transform(condition, _tidy)))
    except _Unspeakable:
        return None


def can_be_said(term: Term) -> bool:
    """Whether the term speaks of nothing but sizes, strides, scalars and the grid."""
    return all(leaf.kind is TermKind.VAR and leaf.symbol.scope is Scope.LAUNCH and _named(leaf) for leaf in term.free)


def _named(variable: Term) -> bool:
    """Whether a launch spec can name it; the distance of two arrays, for one, it cannot."""
    return _NAME.fullmatch(variable.symbol.name) is not None


_NAME = re.compile(r"[A-Za-z_][\w.\[\]]*")


def _tidy(term: Term) -> Term | None:
    """Push comparisons into choices, where intervals decide most branches (unsigned readings of scalars)."""
    if term.kind in (TermKind.LT, TermKind.LE, TermKind.EQ):
        for position, side in enumerate(term.args):
            if side.kind is TermKind.ITE:
                other = term.args[1 - position]
                pairs = [(b, other) if position == 0 else (other, b) for b in side.args[1:]]
                then, otherwise = (t.rebuild(term, pair) for pair in pairs)
                return t.ite(side.args[0], then, otherwise)
        return _positive_quotient(term)
    return None


def _positive_quotient(term: Term) -> Term | None:
    """``0 < (n + c - 1) // c`` says ``0 < n``."""
    low, quotient = term.args[0], term.args[1]
    if term.kind is TermKind.LT and low is t.ZERO and quotient.kind is TermKind.DIV:
        numerator = _rounded_up(quotient)
        if numerator is not None:
            return t.lt(t.ZERO, numerator)
    return None


def _rounded_up(quotient: Term) -> Term | None:
    """``n`` if the quotient is ``(n + c - 1) // c``."""
    numerator, divisor = quotient.args
    if divisor.kind is TermKind.CONST and divisor.value > 1:
        inner = t.sub(numerator, t.const(divisor.value - 1))
        if t.linear_parts(inner)[0] == 0:
            return inner
    return None


def _expression(term: Term) -> Expression:  # noqa: C901  one case per kind of term
    if (reading := unsigned_reading(term)) is not None:
        bits, signed = reading
        return Apply("%", (_expression(signed), _number(2**bits)))
    match term.kind:
        case TermKind.CONST:
            return _number(term.value)
        case TermKind.VAR if can_be_said(term):
            return Name(term.symbol.name)
        case TermKind.DIV | TermKind.MOD if term.args[1] is t.ZERO:
            raise _Unspeakable
        case TermKind.TRUE | TermKind.FALSE:
            return Apply("==", (Number(1), Number(int(term is t.TRUE))))
        case TermKind.SUM:
            return _sum(term)
        case TermKind.DIV:
            numerator = _rounded_up(term)
            if numerator is not None:
                return Apply("cdiv", (_expression(numerator), _expression(term.args[1])))
        case TermKind.WRAP:
            half = 2 ** (term.payload - 1)
            return _expression(t.sub(t.floormod(t.add(term.args[0], t.const(half)), t.const(2 * half)), t.const(half)))
        case TermKind.NOT if term.args[0].kind is TermKind.EQ:
            return _comparison("!=", *term.args[0].args)
        case TermKind.NOT if term.args[0].kind is TermKind.IFF:
            a, b = term.args[0].args
            return _alike(a, t.not_(b))
        case TermKind.IFF:
            return _alike(*term.args)
        case TermKind.ITE if term.sort is Sort.BOOL:
            c, a, b = term.args
            return _expression(t.and_(t.or_(t.not_(c), a), t.or_(c, b)))
        case TermKind.LT if term.args[0].kind is TermKind.CONST:
            return Apply(">=", (_expression(term.args[1]), _number(term.args[0].value + 1)))
        case TermKind.LE if term.args[0].kind is TermKind.CONST:
            return Apply(">=", (_expression(term.args[1]), _number(term.args[0].value)))
        case TermKind.LT | TermKind.LE if term.args[1].kind is TermKind.CONST:
            return _at_most(term.args[0], term.args[1].value - (term.kind is TermKind.LT))
        case TermKind.EQ:
            return _comparison("==", *term.args)
        case TermKind.PRODUCT:
            return reduce(lambda x, y: Apply("*", (x, y)), map(_expression, _by_name(term.args)))
    if term.kind not in _OPERATORS:
        raise _Unspeakable
    args = _by_name(term.args) if term.kind in _COMMUTATIVE else term.args
    return Apply(_OPERATORS[term.kind], tuple(map(_expression, args)))


def _number(value: int) -> Expression:
    """Large numbers close to a power of two as people write them: ``2**31 - 1``."""
    size = abs(value)
    for off, op in ((0, ""), (1, "-"), (-1, "+")):
        power = size + off
        if power >= _LARGE and power & (power - 1) == 0 and (value > 0 or not off):
            number: Expression = Apply("**", (Number(2), Number(power.bit_length() - 1)))
            if value < 0:
                return Apply("neg", (number,))
            return Apply(op, (number, Number(1))) if off else number
    return Number(value)


_LARGE = 1 << 16


def _at_most(term: Term, limit: int) -> Expression:
    """``n == 0`` for the least that something can be, ``n < 2**31``, or ``n <= 5``."""
    if term.low == limit:
        return Apply("==", (_expression(term), _number(limit)))
    after = limit + 1
    if after >= _LARGE and after & (after - 1) == 0:
        return Apply("<", (_expression(term), _number(after)))
    return Apply("<=", (_expression(term), _number(limit)))


def _by_name(args: tuple[Term, ...]) -> list[Term]:
    """Terms order commuting arguments by digest; people prefer the alphabet."""
    return sorted(args, key=t.render)


_COMMUTATIVE = (TermKind.MIN, TermKind.MAX, TermKind.AND, TermKind.OR)


_OPERATORS = {
    TermKind.DIV: "//",
    TermKind.MOD: "%",
    TermKind.MIN: "min",
    TermKind.MAX: "max",
    TermKind.NOT: "not",
    TermKind.AND: "and",
    TermKind.OR: "or",
    TermKind.LT: "<",
    TermKind.LE: "<=",
}


def _comparison(op: str, a: Term, b: Term) -> Expression:
    """Constants stand on the right."""
    if a.kind is TermKind.CONST or (b.kind is not TermKind.CONST and t.render(b) < t.render(a)):
        a, b = b, a
    return Apply(op, (_expression(a), _expression(b)))


def _alike(a: Term, b: Term) -> Expression:
    """Both or neither; conditions cannot be compared in a launch spec."""
    both = Apply("and", (_expression(a), _expression(b)))
    return Apply("or", (both, Apply("and", (_expression(t.not_(a)), _expression(t.not_(b))))))


def _sum(term: Term) -> Expression:
    """Positive summands first, the constant last."""
    constant, parts = t.linear_parts(term)
    ordered = sorted(parts, key=lambda part: (part[0] < 0, t.render(part[1])))
    pieces = [*ordered, *([(constant, t.ONE)] if constant else [])]
    (first, summand), *rest = pieces
    result = _scaled(abs(first), summand)
    if first < 0:
        result = Apply("neg", (result,))
    for c, s in rest:
        result = Apply("-" if c < 0 else "+", (result, _scaled(abs(c), s)))
    return result


def _scaled(factor: int, summand: Term) -> Expression:
    if summand is t.ONE:
        return _number(factor)
    return _expression(summand) if factor == 1 else Apply("*", (_number(factor), _expression(summand)))
