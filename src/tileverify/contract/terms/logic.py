"""Boolean terms, comparisons and choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .nodes import FALSE, ONE, TRUE, ZERO, Sort, Term, TermKind, boolean, existing, make
from .sums import add, difference, fits_signed, floormod, linear_parts, sub, wrap


def not_(a: Term) -> Term:
    if a is TRUE:
        return FALSE
    if a is FALSE:
        return TRUE
    if a.kind is TermKind.NOT:
        return a.args[0]
    if a.kind is TermKind.LT:
        return le(a.args[1], a.args[0])
    if a.kind is TermKind.LE:
        return lt(a.args[1], a.args[0])
    return make(TermKind.NOT, (a,), sort=Sort.BOOL)


def _complement(a: Term) -> Term | None:
    """``not_(a)`` if that term exists already: looking for contradictions should not build terms."""
    match a.kind:
        case TermKind.NOT:
            return a.args[0]
        case TermKind.LT:
            return existing(TermKind.LE, (a.args[1], a.args[0]))
        case TermKind.LE:
            return existing(TermKind.LT, (a.args[1], a.args[0]))
    return existing(TermKind.NOT, (a,))


def _junction(kind: TermKind, unit: Term, zero: Term, terms: Iterable[Term]) -> Term:
    flat: dict[Term, None] = {}
    for term in terms:
        for part in term.args if term.kind is kind else (term,):
            if part is zero:
                return zero
            if part is not unit:
                flat[part] = None
    if len(flat) < 2:
        return next(iter(flat), unit)
    if any(_complement(part) in flat for part in flat):
        return zero
    if any(part.kind is _DUAL[kind] for part in flat):
        absorbed = _absorb(kind, flat)
        if absorbed is not None:
            return _junction(kind, unit, zero, absorbed)
    if kind is TermKind.OR and any(part.kind is TermKind.EQ for part in flat) and (merged := _joined_orders(flat)):
        return _junction(kind, unit, zero, merged)
    return make(kind, tuple(sorted(flat)), sort=Sort.BOOL)


def _joined_orders(flat: Mapping[Term, None]) -> list[Term] | None:
    """``a < b or a == b`` is ``a <= b``: the conditions of loop-carried tokens meet this all the time."""
    # order: slack >= 0, or > 0
    slacks = [(order, sub(order.args[1], order.args[0])) for order in flat if order.kind in (TermKind.LT, TermKind.LE)]
    for equal in flat if slacks else ():
        if equal.kind is TermKind.EQ:
            apart = sub(*equal.args)
            for order, slack in slacks:
                if not _may_cancel(apart, slack):
                    continue
                for x, y in (equal.args, equal.args[::-1]):
                    gap = 0 if order.kind is TermKind.LT else 1
                    if difference(sub(y, x), slack) == (gap, gap):
                        return [le(x, y), *(part for part in flat if part is not equal and part is not order)]
    return None


def _may_cancel(a: Term, b: Term) -> bool:
    """Whether nothing but a number can be left of a and b together: they have the same summands, or remainders."""
    first, second = ({s for _, s in linear_parts(term)[1]} for term in (a, b))
    return first == second or any(s.kind is TermKind.MOD for s in first | second)


_DUAL: Final = {TermKind.AND: TermKind.OR, TermKind.OR: TermKind.AND}


def _absorb(kind: TermKind, flat: Mapping[Term, None]) -> list[Term] | None:
    """Absorption, ``x or (x and y) = x``, and unit resolution, ``x or (not x and y) = x or y`` (and their duals).

    ``None`` where nothing changes.
    """
    dual, join = (_DUAL[kind], or_ if kind is TermKind.AND else and_)
    kept: list[Term] = []
    changed = False
    for part in flat:
        if part.kind is dual:
            if any(arg in flat for arg in part.args):
                changed = True
                continue
            rest = [arg for arg in part.args if _complement(arg) not in flat]
            if len(rest) != len(part.args):
                changed = True
                part = join(*rest)
        kept.append(part)
    return kept if changed else None


def and_(*terms: Term) -> Term:
    return _junction(TermKind.AND, TRUE, FALSE, terms)


def or_(*terms: Term) -> Term:
    return _junction(TermKind.OR, FALSE, TRUE, terms)


def conjuncts(*conditions: Term) -> tuple[Term, ...]:
    """The parts of ``conditions``, which all hold together; TRUE has none."""
    kept = (each for each in conditions if each is not TRUE)
    return tuple(part for each in kept for part in (each.args if each.kind is TermKind.AND else (each,)))


def flat_conjuncts(*conditions: Term) -> tuple[Term, ...]:
    """The same, also of what denies a disjunction: neither of two is both not."""
    found: list[Term] = []
    for part in conjuncts(*conditions):
        denies = part.kind is TermKind.NOT and part.args[0].kind is TermKind.OR
        found += flat_conjuncts(*map(not_, part.args[0].args)) if denies else (part,)
    return tuple(found)


def implies(a: Term, b: Term) -> Term:
    return or_(not_(a), b)


def lt(a: Term, b: Term) -> Term:
    low, high = difference(a, b)
    if high is not None and high < 0:
        return TRUE
    if low is not None and low >= 0:
        return FALSE
    # x < y + 1 and x - 1 < y are x <= y, so that one condition has one form.
    if _constant_of_sum(b) == 1:
        return le(a, sub(b, ONE))
    if _constant_of_sum(a) == -1:
        return le(add(a, ONE), b)
    return make(TermKind.LT, (a, b), sort=Sort.BOOL)


def _constant_of_sum(term: Term) -> int:
    return int(term.payload[0]) if term.kind is TermKind.SUM else 0


def le(a: Term, b: Term) -> Term:
    low, high = difference(a, b)
    if high is not None and high <= 0:
        return TRUE
    if low is not None and low > 0:
        return FALSE
    if _constant_of_sum(b) == -1:
        return lt(a, add(b, ONE))
    if _constant_of_sum(a) == 1:
        return lt(sub(a, ONE), b)
    return make(TermKind.LE, (a, b), sort=Sort.BOOL)


def eq(a: Term, b: Term) -> Term:
    if a is b:
        return TRUE
    low, high = difference(a, b)
    if low is not None and low == high:
        return boolean(low == 0)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return FALSE
    # Comparing a 0/1 choice with a constant is the choice itself.
    for x, y in ((a, b), (b, a)):
        if y.kind is TermKind.CONST and x.kind is TermKind.ITE and x.args[1].kind is x.args[2].kind is TermKind.CONST:
            return ite(x.args[0], eq(x.args[1], y), eq(x.args[2], y))
    return make(TermKind.EQ, tuple(sorted((a, b))), sort=Sort.BOOL)


def ne(a: Term, b: Term) -> Term:
    return not_(eq(a, b))


def iff(a: Term, b: Term) -> Term:
    if a is b:
        return TRUE
    for x, y in ((a, b), (b, a)):
        if x is TRUE:
            return y
        if x is FALSE:
            return not_(y)
    return make(TermKind.IFF, tuple(sorted((a, b))), sort=Sort.BOOL)


def ite(condition: Term, then: Term, otherwise: Term) -> Term:
    """``then if condition else otherwise``, of integers or of booleans."""
    if condition is TRUE or then is otherwise:
        return then
    if condition is FALSE:
        return otherwise
    if then.kind is TermKind.ITE and then.args[0] is condition:
        return ite(condition, then.args[1], otherwise)
    if otherwise.kind is TermKind.ITE and otherwise.args[0] is condition:
        return ite(condition, then, otherwise.args[2])
    if otherwise.kind is TermKind.TMOD and (modulo := _python_modulo(condition, then, otherwise)) is not None:
        return modulo
    if then.sort is Sort.BOOL and (junction := _choice_as_junction(condition, then, otherwise)) is not None:
        return junction
    if condition.kind is TermKind.NOT:
        return ite(condition.args[0], otherwise, then)
    low, high = _hull(_interval_where(condition, True, then), _interval_where(condition, False, otherwise))
    return make(TermKind.ITE, (condition, then, otherwise), sort=then.sort, low=low, high=high)


def _hull(a: tuple[int | None, int | None], b: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    high = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return low, high


def _interval_where(condition: Term, holds: bool, side: Term) -> tuple[int | None, int | None]:
    """Bounds of ``side`` where ``condition`` holds or not: a comparison of something close to it with a constant.

    So that the unsigned reading ``x + 2**N if x < 0 else x`` is known to lie between 0 and 2**N - 1.
    """
    low, high = side.low, side.high
    if condition.kind not in (TermKind.LT, TermKind.LE) or side.sort is Sort.BOOL:
        return low, high
    small, large = condition.args if holds else condition.args[::-1]
    gap = 1 if (condition.kind is TermKind.LT) == holds else 0  # small + gap <= large
    for term, limit, is_upper in ((small, large, True), (large, small, False)):
        if limit.kind is not TermKind.CONST:
            continue
        distance, farthest = difference(side, term)
        if distance is not None and distance == farthest:
            if is_upper:
                bound = limit.value - gap + distance
                high = bound if high is None else min(high, bound)
            else:
                bound = limit.value + gap + distance
                low = bound if low is None else max(low, bound)
    return low, high


def _choice_as_junction(condition: Term, then: Term, otherwise: Term) -> Term | None:
    """A boolean choice with a side that is constant or the condition itself."""
    if then is TRUE or then is condition:
        return or_(condition, otherwise)
    if then is FALSE:
        return and_(not_(condition), otherwise)
    if otherwise is TRUE:
        return or_(not_(condition), then)
    if otherwise is FALSE or otherwise is condition:
        return and_(condition, then)
    return None


def _python_modulo(condition: Term, then: Term, remainder: Term) -> Term | None:
    """``r + b if r != 0 and (r < 0) != (b < 0) else r`` with ``r = truncmod(a, b)`` is ``floormod(a, b)``.

    Proof: ``a = b*q + r`` with ``|r| < |b|`` and q rounded towards zero.  If r is 0 or has the sign of b, then
    q = floor(a/b).  Otherwise the quotient is negative and not whole, so floor(a/b) = q - 1 and the remainder is
    ``r + b``; it lies between 0 and b, so a ``wrap`` around it, for a type that holds a and b, is the identity.
    """
    a, b = remainder.args
    negative, opposite = lt(remainder, ZERO), lt(b, ZERO)
    if condition is not and_(ne(remainder, ZERO), not_(iff(negative, opposite))):
        return None
    total = add(remainder, b)
    wrapped = then.kind is TermKind.WRAP and fits_signed(b, then.payload) and then is wrap(then.payload, total)
    return floormod(a, b) if then is total or wrapped else None
