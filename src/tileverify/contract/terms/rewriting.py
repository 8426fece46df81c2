"""Rewriting terms: substitution, and simplification under known conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from .bits import bit_and, bit_or, bit_xor, shift_left, shift_right
from .logic import and_, eq, iff, ite, le, lt, not_, or_
from .nodes import FALSE, TRUE, Term, TermKind, apply, boolean, postorder
from .products import product
from .sums import combination, floordiv, floormod, maximum, minimum, truncdiv, truncmod, wrap


def rebuild(term: Term, args: tuple[Term, ...]) -> Term:
    """``term`` with other arguments, normalised again."""
    match term.kind:
        case TermKind.SUM:
            constant, coefficients = term.payload
            return combination(constant, coefficients, args)
        case TermKind.PRODUCT:
            return product(args)
        case TermKind.WRAP:
            return wrap(term.payload, args[0])
        case TermKind.APPLY:
            return apply(term.function, *args)
        case TermKind.AND:
            return and_(*args)
        case TermKind.OR:
            return or_(*args)
        case TermKind.CONST | TermKind.VAR | TermKind.TRUE | TermKind.FALSE:
            return term
        case _:
            return _REBUILD[term.kind](*args)


_REBUILD: Final[dict[TermKind, Callable[..., Term]]] = {
    TermKind.DIV: floordiv,
    TermKind.MOD: floormod,
    TermKind.TDIV: truncdiv,
    TermKind.TMOD: truncmod,
    TermKind.MIN: minimum,
    TermKind.BITAND: bit_and,
    TermKind.BITOR: bit_or,
    TermKind.BITXOR: bit_xor,
    TermKind.SHL: shift_left,
    TermKind.SHR: shift_right,
    TermKind.MAX: maximum,
    TermKind.ITE: ite,
    TermKind.NOT: not_,
    TermKind.LT: lt,
    TermKind.LE: le,
    TermKind.EQ: eq,
    TermKind.IFF: iff,
}


def transform(term: Term, leaf: Callable[[Term], Term | None], memo: dict[Term, Term] | None = None) -> Term:
    """Rewrite bottom-up: ``leaf(t)`` replaces ``t`` (already rewritten arguments) unless it gives ``None``."""
    done: dict[Term, Term] = {} if memo is None else memo
    if term in done:
        return done[term]
    for sub_term in postorder(term, done):
        args = sub_term.args
        if args:
            mapped = tuple([done[arg] for arg in args])
            rebuilt = sub_term if mapped == args else rebuild(sub_term, mapped)
        else:
            rebuilt = sub_term
        replaced = leaf(rebuilt)
        done[sub_term] = rebuilt if replaced is None else replaced
    return done[term]


def substitute(term: Term, replacements: Mapping[Term, Term], memo: dict[Term, Term] | None = None) -> Term:
    """Replace variables or applications (compared before their arguments are rewritten)."""
    replaced = replacements.keys()
    if not replacements or term.free.isdisjoint(replaced):
        return term
    done: dict[Term, Term] = {} if memo is None else memo
    stack = [term]
    while stack:
        current = stack[-1]
        if current in done:
            stack.pop()
        elif current in replacements:
            done[current] = replacements[current]
        elif current.free.isdisjoint(replaced):
            done[current] = current
        elif missing := [arg for arg in current.args if arg not in done]:
            stack += missing
        else:
            done[current] = rebuild(current, tuple([done[arg] for arg in current.args]))
    return done[term]


def literals(condition: Term) -> dict[Term, Term]:
    """What a true ``condition`` says of boolean terms: each known one with ``TRUE`` or ``FALSE``."""
    known: dict[Term, Term] = {}
    stack = [(condition, True)]
    while stack:
        term, truth = stack.pop()
        if term.kind is TermKind.NOT:
            stack.append((term.args[0], not truth))
        elif term.kind is (TermKind.AND if truth else TermKind.OR):
            stack.extend((arg, truth) for arg in term.args)
        elif term is not TRUE and term is not FALSE:
            known[term] = boolean(truth)
            if term.kind in (TermKind.LT, TermKind.LE):
                known[not_(term)] = boolean(not truth)
    return known


def assuming(term: Term, known: Mapping[Term, Term]) -> Term:
    """``term`` simplified where the boolean terms in ``known`` have those values (see `literals`)."""
    done: dict[Term, Term] = dict(known)
    if not known:
        return term
    for sub_term in postorder(term, done):
        args = tuple([done[arg] for arg in sub_term.args])
        done[sub_term] = sub_term if args == sub_term.args else rebuild(sub_term, args)
    return done[term]


def choice(condition: Term, then: Term, otherwise: Term) -> Term:
    """``ite``, without the case ``x == c`` where ``otherwise`` gives ``then`` at c anyway."""
    if condition.kind is TermKind.EQ:
        for variable, constant in (condition.args, condition.args[::-1]):
            at_constant = variable.kind is TermKind.VAR and constant.kind is TermKind.CONST
            if at_constant and substitute(otherwise, {variable: constant}) is then:
                return otherwise
    return ite(condition, then, otherwise)


def simplified(term: Term) -> Term:
    """``term`` with every choice simplified under its own condition; for terms put together from parts."""
    done: dict[Term, Term] = {}
    for part in postorder(term):
        args = tuple(done[arg] for arg in part.args)
        if part.kind is TermKind.ITE:
            condition, then, otherwise = args
            done[part] = choice(
                condition, assuming(then, literals(condition)), assuming(otherwise, literals(not_(condition)))
            )
        else:
            done[part] = part if args == part.args else rebuild(part, args)
    return done[term]
