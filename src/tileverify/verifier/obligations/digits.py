"""Numbers written with digits whose bases are sizes: put together from them, and told apart by them.

A block number p of a grid A*B*C is taken apart as p // (B*C), (p // C) % B, p % C, and put together as an index again.
In the formulas / is the division that rounds down, and x % c = x - c*(x / c), whatever x and c are.

    sum           M*(x % c) + M*c*(x / c) = M*x
    quotient      (x / c) / d = x / (c*d)                                           c, d > 0
    index         c*a + r = c*b + s   iff   a = b and r = s                         0 <= r, s < c
    bound         c*n <= c*a + r      iff   n <= a                                  0 <= r < c
    digits        x / c = y / c and x % c = y % c   iff   x = y and x % c = y % c

``sum`` and ``digits`` are what % means.  ``quotient``: for an integer n, n <= (x/c)/d iff n*d <= x/c iff n*d*c <= x.
``index``: c divides r - s, which lies between -c and c.  ``bound``: c*n <= c*a + r < c*(a + 1).  The premises are read
off facts and other conditions: no factor of a product that is at least 1 is 0, and  x / d < c  where  x < c*d.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from ...contract import terms as t
from ...contract.terms import Term, TermKind

Monomials: TypeAlias = Counter[tuple[Term, ...]]
"""A sum of products: sorted factors, with their coefficient."""

MOST_MONOMIALS = 32


def by_digits(conditions: Iterable[Term], facts: frozenset[Term]) -> tuple[Term, ...] | None:
    """Conditions that say the same under the facts, by all rules that apply; ``None`` if none does.

    They are left side by side, so that another solver sees what contradicts what.  What is known beside a condition is
    the facts and all other conditions, as they stand when it is changed.
    """
    given = t.conjuncts(*conditions)
    parts, place = list(given), 0
    while place < len(parts):
        part = parts[place]
        found: tuple[Term, ...] | None
        if any(map(_is_of_sizes, t.postorder(part))):
            known = facts.union(each for each in parts if each.kind in _ORDERS and each is not part)
            whole = _recomposed(part, known)
            found = (whole,) if whole is not part else split_by_base(part, known) or joined(part, parts, known)
        else:
            found = joined(part, parts, facts)
        if found is not None:
            parts[place : place + 1] = found
        place = place + 1 if found is None else 0
    return None if parts == list(given) else tuple(dict.fromkeys(parts))


_ORDERS = (TermKind.LT, TermKind.LE)


def _is_of_sizes(term: Term) -> bool:
    is_quotient = term.kind in (TermKind.DIV, TermKind.MOD) and term.args[1].kind is not TermKind.CONST
    return is_quotient or term.kind is TermKind.PRODUCT


@lru_cache(maxsize=64)
def _positive(facts: frozenset[Term]) -> frozenset[Term]:
    """Terms that are at least 1: what is above something that is not negative, and the factors of such a product."""
    above = [fact.args for fact in facts if fact.kind is TermKind.LT and _is_natural(fact.args[0])]
    above += [fact.args for fact in facts if fact.kind is TermKind.LE and (fact.args[0].low or 0) >= 1]
    products = (large for _, large in above if large.kind is TermKind.PRODUCT and all(map(_is_natural, large.args)))
    return frozenset(large for _, large in above).union(*(each.args for each in products))


def _is_natural(term: Term) -> bool:
    return term.low is not None and term.low >= 0


def _is_positive(term: Term, facts: frozenset[Term]) -> bool:
    factors = term.args if term.kind is TermKind.PRODUCT else (term,)
    return term in _positive(facts) or all((each.low or 0) >= 1 or each in _positive(facts) for each in factors)


def _is_below(term: Term, base: Term, facts: frozenset[Term]) -> bool:
    """Whether ``0 <= term < base``."""
    if term is t.ZERO or (term.kind is TermKind.MOD and term.args[1] is base):
        return _is_positive(base, facts)
    if term.kind is TermKind.DIV and _is_natural(term.args[0]) and _is_positive(term.args[1], facts):
        return _is_below(term.args[0], t.mul(base, term.args[1]), facts)
    return _is_natural(term) and t.lt(term, base) in facts


def _recomposed(term: Term, facts: frozenset[Term]) -> Term:
    return t.transform(term, lambda sub: _put_together(sub, facts) if sub.kind is TermKind.SUM else None)


def _put_together(term: Term, facts: frozenset[Term]) -> Term | None:
    left, changed = _monomials(term), False
    while (found := next(_wholes(left, facts), None)) is not None:
        low, high, whole = found
        coefficient, changed = left.pop(low), True
        del left[high]
        left.update(_monomials(t.scale(coefficient, whole)))
    return _as_term(left) if changed else None


def _wholes(of: Monomials, facts: frozenset[Term]) -> Iterator[tuple[tuple[Term, ...], tuple[Term, ...], Term]]:
    """M*(x % c) and M*c*(x / c) with one coefficient, and M*x."""
    for low, digit in ((key, each) for key in of for each in key if each.kind is TermKind.MOD):
        x, base = digit.args
        rest = list(low)
        rest.remove(digit)
        quotients = [t.floordiv(x, base)]
        if x.kind is TermKind.DIV and _is_positive(base, facts) and _is_positive(x.args[1], facts):
            quotients.append(t.floordiv(x.args[0], t.mul(x.args[1], base)))
        for part in (t.product((*rest, base, each)) for each in quotients):
            high = tuple(sorted(part.args))
            if part.kind is TermKind.PRODUCT and of.get(high) == of[low]:
                yield low, high, t.product((*rest, x))


def _monomials(term: Term) -> Monomials:
    """The sum multiplied out; a factor that makes too many products stays as it is."""
    constant, parts = t.linear_parts(term)
    found: Monomials = Counter({(): constant})
    for coefficient, part in parts:
        products: Monomials = Counter({(): coefficient})
        for factor in part.args if part.kind is TermKind.PRODUCT else (part,):
            summands: Monomials = Counter({(factor,): 1})
            if factor.kind is TermKind.SUM and len(products) * len(factor.args) < MOST_MONOMIALS:
                summands = _monomials(factor)
            longer: Monomials = Counter()
            for (one, c), (other, d) in product(products.items(), summands.items()):
                longer[tuple(sorted((*one, *other)))] += c * d
            products = longer
        found.update(products)
    return Counter({key: value for key, value in found.items() if value})


def _as_term(of: Mapping[tuple[Term, ...], int]) -> Term:
    return t.add(*(t.scale(value, t.product(key)) for key, value in of.items()))


def split_by_base(part: Term, facts: frozenset[Term]) -> tuple[Term, ...] | None:
    """What an equation or a bound says of the last digit, and of those before it; ``None`` where no base is known."""
    if part.kind not in (TermKind.EQ, TermKind.LE):
        return None
    is_bound = part.kind is TermKind.LE
    if is_bound and part.args[0].kind is not TermKind.CONST and _is_below(part.args[1], part.args[0], facts):
        return (t.FALSE,)
    sides = [_monomials(side) for side in part.args]
    for base in dict.fromkeys(factor for key in sides[0] if len(key) > 1 for factor in key):
        (a, r), (b, s) = (_divided(side, base) for side in sides)
        if b is not t.ZERO and _is_below(r, base, facts) and _is_below(s, base, facts):
            if not is_bound:
                return t.eq(a, b), t.eq(r, s)
            if r is t.ZERO:
                return (t.le(a, b),)
    return None


def _divided(side: Monomials, base: Term) -> tuple[Term, Term]:
    """``(a, r)`` with ``side = base*a + r``, and no product in r has the factor ``base``."""
    whole = {key[: (at := key.index(base))] + key[at + 1 :]: value for key, value in side.items() if base in key}
    return _as_term(whole), _as_term({key: value for key, value in side.items() if base not in key})


def joined(equation: Term, among: Container[Term], facts: frozenset[Term]) -> tuple[Term] | None:
    """That two numbers are equal, if ``equation`` says so of their quotients, and one ``among`` others of the rest."""
    if equation.kind is not TermKind.EQ:
        return None
    p, q = equation.args
    if not p.kind is q.kind is TermKind.DIV or p.args[1] is not q.args[1]:
        return None
    (x, divisor), y = p.args, q.args[0]
    lasts = [(t.ONE, divisor)]
    if divisor.kind is TermKind.PRODUCT and all(_is_positive(factor, facts) for factor in divisor.args):
        sizes = divisor.args
        lasts += [(t.product((*sizes[:place], *sizes[place + 1 :])), last) for place, last in enumerate(sizes)]
    for others, c in lasts:
        one, other = t.floordiv(x, others), t.floordiv(y, others)
        rest = t.eq(t.floormod(one, c), t.floormod(other, c))
        if rest is t.TRUE or rest in among:
            return (t.eq(one, other),)
    return None
