"""The structural tier: questions that need no solver.

Most race questions die here: the tile index *is* the block id.  From ``bid.x = bid.x'`` the copies are unified, and
``bid != bid'`` becomes false.  Nothing is assumed: replacing a variable by one it must equal keeps the solutions, and
so does taking an equation apart, or putting two together (below, and in `digits`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import TypeAlias

from ...contract import terms as t
from ...contract.terms import Scope, Term, TermKind
from ...contract.terms.bits import OPERATIONS
from .digits import by_digits
from .footprint_overlap import PRIME


@dataclass(frozen=True, slots=True)
class Simplified:
    """Equivalent conditions on fewer variables; ``eliminated`` says which variable each missing one is equal to.
    ``joined``: numbers were put together from their digits."""

    conditions: tuple[Term, ...]
    eliminated: Mapping[Term, Term]
    joined: bool = False


def simplify(conditions: Iterable[Term], facts: frozenset[Term] = frozenset()) -> Simplified | None:
    """Equivalent conditions on fewer variables; ``None`` when they contradict each other or a fact outright."""
    current = t.and_(*conditions)
    eliminated: dict[Term, Term] = {}
    of_facts, from_digits = known_ranges(facts), False
    while current is not t.FALSE:
        parts = t.conjuncts(current)
        found = next((pair for pair in map(_unifiable, parts) if pair), None)
        if found is not None:
            eliminated[found[0]] = found[1]
            current = t.substitute(current, {found[0]: found[1]})
            continue
        own = known_ranges(frozenset(parts))
        taken_apart = [split(part, of_facts, own) for part in parts]
        if any(taken_apart):
            current = t.and_(*(each for part, new in zip(parts, taken_apart, strict=True) for each in new or (part,)))
            continue
        put_together = by_digits(parts, facts)
        if put_together is None:
            if any(t.not_(condition) in facts for condition in parts):
                return None
            return Simplified(parts, eliminated, from_digits)
        from_digits = True
        current = t.and_(*put_together)
    return None


def _unifiable(condition: Term) -> tuple[Term, Term] | None:
    """``(v', v)`` if the condition says just that two variables of one range are equal."""
    if condition.kind is not TermKind.EQ:
        return None
    constant, parts = t.linear_parts(t.sub(*condition.args))
    if constant or len(parts) != 2:
        return None
    (c, v), (d, w) = parts
    if c + d or v.kind is not TermKind.VAR or w.kind is not TermKind.VAR or (v.low, v.high) != (w.low, w.high):
        return None
    scopes = {v.symbol.scope, w.symbol.scope}
    if Scope.LAUNCH in scopes:
        return None
    replaced, kept = (v, w) if len(v.symbol.name) > len(w.symbol.name) else (w, v)
    if Scope.BLOCK in scopes and replaced.symbol.name != kept.symbol.name + PRIME:
        # ``bid.y' = bid.x`` must keep ``bid.y' < grid.y``, which stands among the facts.
        return None
    return replaced, kept


# ------------------------------------------------------------------------------------------------------------ equations
# Equations between addresses, taken apart where their parts cannot make up for each other.
#
#     g*a + b = 0  and  |b| < g   iff   a = 0  and  b = 0
#
# Blocks side by side, rows of a tile: ``1024*bid.x + lane = 1024*bid.x' + lane'`` says that blocks and lanes are equal.
# Numbers whose digits turn out equal are put together (`digits`).


Range: TypeAlias = tuple[int | None, int | None]
"""The least and the largest value, where they are known."""


@lru_cache(maxsize=64)
def known_ranges(conditions: frozenset[Term]) -> Mapping[Term, Range]:
    """What comparisons with numbers among ``conditions`` say of variables and other terms."""
    found: dict[Term, Range] = {}
    for condition in conditions:
        _note(found, condition)
    return found


def _note(found: dict[Term, Range], condition: Term) -> None:
    if condition.kind is TermKind.EQ:
        for term, value in (condition.args, condition.args[::-1]):
            if value.kind is TermKind.CONST:
                _narrow(found, term, value.value, value.value)
    elif condition.kind in (TermKind.LT, TermKind.LE):
        gap = 1 if condition.kind is TermKind.LT else 0
        small, large = condition.args
        if large.kind is TermKind.CONST:
            _narrow(found, small, None, large.value - gap)
        elif small.kind is TermKind.CONST:
            _narrow(found, large, small.value + gap, None)


def _narrow(found: dict[Term, Range], term: Term, low: int | None, high: int | None) -> None:
    least, most = found.get(term, (term.low, term.high))
    found[term] = (
        low if least is None else least if low is None else max(low, least),
        high if most is None else most if high is None else min(high, most),
    )


def split(equation: Term, *known: Mapping[Term, Range]) -> tuple[Term, ...] | None:
    """Equations that say the same together, under what is ``known`` of ranges; ``None`` if it stays as it is."""
    if equation.kind is not TermKind.EQ:
        return None
    constant, parts = t.linear_parts(t.sub(*equation.args))
    ordered = sorted(parts, key=lambda part: -abs(part[0]))
    for place in range(1, len(ordered)):
        if abs(ordered[place - 1][0]) == abs(ordered[place][0]):
            continue
        large, small = ordered[:place], ordered[place:]
        step = gcd(*(c for c, _ in large))
        rest = _sum_range(small, known)
        if rest is None:
            continue
        for whole in (constant - constant % step, constant - constant % step + step):
            left = constant - whole
            if -step < left + rest[0] and left + rest[1] < step:
                return tuple(_is_zero(value, terms) for value, terms in ((whole, large), (left, small)))
    return None


def _sum_range(parts: Iterable[tuple[int, Term]], known: Iterable[Mapping[Term, Range]]) -> tuple[int, int] | None:
    low = high = 0
    for c, term in parts:
        ranges = [(term.low, term.high), *(each[term] for each in known if term in each)]
        lows = [least for least, _ in ranges if least is not None]
        highs = [most for _, most in ranges if most is not None]
        if not lows or not highs:
            return None
        first, second = c * max(lows), c * min(highs)
        low, high = low + min(first, second), high + max(first, second)
    return low, high


def _is_zero(constant: int, parts: Iterable[tuple[int, Term]]) -> Term:
    left = {term: c for c, term in parts if c > 0}
    right = {term: -c for c, term in parts if c < 0}
    divisor = gcd(constant, *left.values(), *right.values())
    a = t.from_linear(max(constant, 0) // divisor, {term: c // divisor for term, c in left.items()})
    b = t.from_linear(max(-constant, 0) // divisor, {term: c // divisor for term, c in right.items()})
    return t.eq(a, b)


# ----------------------------------------------------------------------------------------------------------- arithmetic
# Which products, quotients and operations on bits solvers are asked about.
#
# Encodings and certificates agree on these forms.


def expand(term: Term, memo: dict[Term, Term] | None = None) -> Term:
    """Rewrite truncated division and variable remainders into floor division (the solver sees one division)."""
    return t.transform(term, _expand, memo)


def _expand(term: Term) -> Term | None:
    match term.kind:
        case TermKind.TDIV:
            return _truncated(*term.args)
        case TermKind.TMOD:
            a, b = term.args
            return t.sub(a, t.mul(b, _truncated(a, b)))
        case TermKind.MOD if term.args[1].kind is not TermKind.CONST or term.args[1].value <= 0:
            a, b = term.args
            return t.sub(a, t.mul(b, t.floordiv(a, b)))
    return None


def _truncated(a: Term, b: Term) -> Term:
    def positive_divisor(x: Term, y: Term) -> Term:
        return t.ite(t.le(t.ZERO, x), t.floordiv(x, y), t.neg(t.floordiv(t.neg(x), y)))

    if b.kind is TermKind.CONST and b.value < 0:
        return t.neg(positive_divisor(a, t.neg(b)))
    if b.low is not None and b.low > 0:
        return positive_divisor(a, b)
    return t.ite(t.lt(t.ZERO, b), positive_divisor(a, b), t.neg(positive_divisor(a, t.neg(b))))


def is_opaque_quotient(term: Term) -> bool:
    """A quotient whose divisor is no positive constant: the solver knows it by `lemmas.quotient_lemma` alone."""
    divisor = term.args[1]
    return divisor.kind is not TermKind.CONST or divisor.value <= 0


def mentions_bits(terms: Iterable[Term]) -> bool:
    """Whether an operation on bits, other than such as are written as arithmetic, occurs in ``terms``."""
    return any(sub.kind in OPERATIONS for term in terms for sub in t.postorder(term))


def split_product(term: Term) -> tuple[Term, Term]:
    """A product as two factors: launch-wide factors first, so that equal ones meet at the same place."""
    ordered = sorted(term.args, key=lambda f: (not _launch_wide(f), f.digest))
    return ordered[0], t.product(ordered[1:])


def _launch_wide(term: Term) -> bool:
    for leaf in term.free:
        scope = leaf.payload.scope
        if scope is not Scope.LAUNCH:
            return False
    return True
