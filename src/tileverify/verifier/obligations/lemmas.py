"""What congruent products and quotients mean: lemma schemas over terms, instantiated on the terms present.

Quotient definitions are given at once; facts on products are added when a candidate model violates them
(incremental linearisation: Cimatti et al., "Incremental Linearization for Satisfiability and Verification Modulo
Nonlinear Arithmetic", TOCL 2018).  Every schema is valid for all integers, so adding one never changes the answer.
`smtlib` states them once more, in SMT-LIB, for certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

from ...contract import terms as t
from ...contract.terms import Term, TermKind
from ...contract.terms.bits import fits
from .simplify import Range, is_opaque_quotient, split_product

Valuation = Callable[[Term], int]


@dataclass(frozen=True, slots=True)
class Lemma:
    """An instance of ``schema``, whose parameters (`..lemma_schemas.SCHEMAS`) are ``args``.

    The schema says as much as ``formula``, which may have been simplified by the static intervals of terms
    (`bound_lemmas`).  Lemmas that say the same are equal.
    """

    formula: Term
    schema: str = field(compare=False)
    args: tuple[Term | int, ...] = field(compare=False)


@lru_cache(maxsize=4096)
def quotient_lemma(quotient: Term) -> Lemma:
    """``q = x // d``:  d > 0  ->  0 <= x - d*q < d;   d < 0  ->  d < x - d*q <= 0."""
    x, d = quotient.args
    whole = t.mul(d, quotient)
    remainder = t.sub(x, whole)
    positive = t.implies(t.lt(t.ZERO, d), t.and_(t.le(t.ZERO, remainder), t.lt(remainder, d)))
    negative = t.implies(t.lt(d, t.ZERO), t.and_(t.lt(d, remainder), t.le(remainder, t.ZERO)))
    return Lemma(t.and_(positive, negative), "quotient", (x, d, quotient, whole))


def coefficients_of_products(occurrences: Iterable[tuple[Term, int]]) -> dict[Term, set[int]]:
    """The coefficients, 1 beside them, of each product, from `products_in_sums`."""
    found: dict[Term, set[int]] = {}
    for product, coefficient in occurrences:
        found.setdefault(product, {1}).add(coefficient)
    return found


def products_in_sums(term: Term) -> Iterator[tuple[Term, int]]:
    """The products in linear sums of ``term``, with what they are multiplied by there, up to its sign."""
    for sub in t.postorder(term):
        if sub.kind is TermKind.SUM:
            yield from ((s, abs(c)) for c, s in t.linear_parts(sub)[1] if s.kind is TermKind.PRODUCT)


def violated_lemmas(
    products: Mapping[Term, tuple[Term, Term]],
    coefficients: Mapping[Term, set[int]],
    value: Valuation,
    ranges: Mapping[Term, Range],
) -> Iterator[Lemma]:
    """General lemma instances that the candidate model breaks: order, congruence, signs and bounds of factors.

    ``value`` gives a term's value in the model, where a product has whatever value the solver chose.  ``ranges``: what
    numbers bound terms.
    """
    wrong = _wrong(products, value)
    if not wrong:
        return
    found = [*_order_lemmas(products, coefficients, value)]
    for p in wrong:
        found += _sign_lemmas(p, *products[p], value)
        for x, y in (products[p], products[p][::-1]):
            found += _range_lemmas(p, x, y, ranges.get(y, (None, None)), value)
    yield from (lemma for lemma in found if lemma.formula is not t.TRUE)


def point_lemmas(products: Mapping[Term, tuple[Term, Term]], value: Valuation) -> Iterator[Lemma]:
    """What always breaks a model with a wrong product, at the price of speaking of this model's numbers only."""
    for p in _wrong(products, value):
        yield from _point_lemmas(p, *products[p], value)


def _wrong(products: Mapping[Term, tuple[Term, Term]], value: Valuation) -> list[Term]:
    return [p for p, (x, y) in products.items() if value(p) != value(x) * value(y)]


def _entries(products: Iterable[Term], coefficients: Mapping[Term, set[int]]) -> Iterator[tuple[Term, int, Term, Term]]:
    """Every reading of a product p as f*x with the coefficients c that it carries in sums: (f, c, x, p)."""
    for p in products:
        for f in dict.fromkeys(p.args):
            rest = list(p.args)
            rest.remove(f)
            cofactor = t.product(rest)
            for c in sorted(coefficients.get(p, {1})):
                yield f, c, cofactor, p


@lru_cache(maxsize=4096)
def order_lemma(f: Term, g: Term, smaller: tuple[int, Term, Term], larger: tuple[int, Term, Term]) -> Lemma:
    """Discrete monotonicity over a common factor: f = g > 0 and a*x < b*y  ->  a*(f*x) + f <= b*(g*y)."""
    (a, x, p), (b, y, q) = smaller, larger
    premise = t.and_(t.eq(f, g), t.lt(t.ZERO, f), t.lt(t.scale(a, x), t.scale(b, y)))
    return Lemma(t.implies(premise, t.le(t.add(t.scale(a, p), f), t.scale(b, q))), "order", (f, g, a, x, p, b, y, q))


def eager_lemmas(products: Mapping[Term, tuple[Term, Term]], coefficients: Mapping[Term, set[int]]) -> Iterator[Lemma]:
    """Signs of all products, and order lemmas for those that share a factor as written.

    Sizes and quotients of sizes are what injectivity arguments multiply, so the non-negative quadrant comes first.
    """
    for p, (x, y) in products.items():
        yield Lemma(t.implies(t.or_(t.eq(x, t.ZERO), t.eq(y, t.ZERO)), t.eq(p, t.ZERO)), "zero", (x, y, p))
        yield magnitude_lemma(p, 1, x, 1, y)
    by_factor: dict[Term, list[tuple[int, Term, Term]]] = {}
    for f, c, x, p in _entries(products, coefficients):
        by_factor.setdefault(f, []).append((c, x, p))
    for f, entries in by_factor.items():
        for first, second in combinations(entries, 2):
            if first[2] is not second[2]:
                yield order_lemma(f, f, first, second)
                yield order_lemma(f, f, second, first)


def distribution_lemmas(products: Iterable[Term]) -> Iterator[Lemma]:
    """Monotonicity against a cofactor y under a factor that is, or may be, a sum: p = f*x, f = s = sum(c_i * a_i),

        f = s > 0 and y <= x  ->  sum(c_i * (a_i*y)) <= p
        f = s > 0 and x < y   ->  p + f <= sum(c_i * (a_i*y))

    for every y whose products a_i*y are present.  Bounds of quotients by ``min(tiles - first, group)`` need it.
    """
    present = list(products)
    known = set(present)
    cofactors: dict[Term, dict[Term, None]] = {}
    for f, _, x, _ in _entries(present, {}):
        cofactors.setdefault(f, {})[x] = None
    for f, _, x, p in _entries(present, {}):
        for alternative in _alternatives(f):
            constant, parts = t.linear_parts(alternative)
            if not parts or (alternative is f and f.kind is not TermKind.SUM):
                continue
            for y in cofactors.get(parts[0][1], {}):
                if y is x or any(t.mul(a, y) not in known for _, a in parts):
                    continue
                expanded = t.add(t.scale(constant, y), *(t.scale(c, t.mul(a, y)) for c, a in parts))
                premise = t.and_(t.eq(f, alternative), t.lt(t.ZERO, f))
                args = (f, alternative, x, p, y, expanded)
                below = t.implies(t.and_(premise, t.le(y, x)), t.le(expanded, p))
                above = t.implies(t.and_(premise, t.lt(x, y)), t.le(t.add(p, f), expanded))
                yield Lemma(below, "distribution below", args)
                yield Lemma(above, "distribution above", args)


def _alternatives(term: Term) -> tuple[Term, ...]:
    """The terms that a choice may be equal to."""
    match term.kind:
        case TermKind.MIN | TermKind.MAX:
            return term.args
        case TermKind.ITE:
            return term.args[1:]
    return (term,)


def _order_lemmas(
    products: Mapping[Term, tuple[Term, Term]], coefficients: Mapping[Term, set[int]], value: Valuation
) -> Iterator[Lemma]:
    """Broken instances of `order_lemma`, also where two factors are equal only in the model, and of

    f = g and a*x = b*y  ->  a*(f*x) = b*(g*y)
    """
    entries = list(_entries(products, coefficients))
    # The bare factor is f*1: it bounds products from below and above.
    entries += [(f, 1, t.ONE, f) for f in dict.fromkeys(f for f, *_ in entries)]
    # With a*x and a*(f*x) in the model: pairs are many, entries few.
    by_value: dict[int, list[tuple[Term, int, Term, Term, int, int]]] = {}
    for f, a, x, p in entries:
        by_value.setdefault(value(f), []).append((f, a, x, p, a * value(x), a * value(p)))
    for scale, group in by_value.items():
        for (f, a, x, p, left, big_left), (g, b, y, q, right, big_right) in combinations(group, 2):
            if left == right:
                if big_left != big_right:
                    premise = t.and_(t.eq(f, g), t.eq(t.scale(a, x), t.scale(b, y)))
                    equal = t.implies(premise, t.eq(t.scale(a, p), t.scale(b, q)))
                    yield Lemma(equal, "equal", (f, g, a, x, p, b, y, q))
            elif scale > 0 and left < right and big_left + scale > big_right:
                yield order_lemma(f, g, (a, x, p), (b, y, q))
            elif scale > 0 and left > right and big_right + scale > big_left:
                yield order_lemma(g, f, (b, y, q), (a, x, p))


def _sign_lemmas(p: Term, x: Term, y: Term, value: Valuation) -> Iterator[Lemma]:
    """Broken instances of: x = 0 -> x*y = 0, and |x*y| >= max(|x|, |y|) with the sign that x and y have."""
    a, b, c = value(x), value(y), value(p)
    if a == 0 or b == 0:
        zero = x if a == 0 else y
        yield Lemma(t.implies(t.eq(zero, t.ZERO), t.eq(p, t.ZERO)), "zero", (x, y, p))
        return
    sign_x, sign_y = 1 if a > 0 else -1, 1 if b > 0 else -1
    if sign_x * sign_y * c < max(abs(a), abs(b)):
        yield magnitude_lemma(p, sign_x, x, sign_y, y)


def magnitude_lemma(p: Term, sign_x: int, x: Term, sign_y: int, y: Term) -> Lemma:
    """``p = x*y``:  s*x >= 1 and r*y >= 1  ->  s*x <= s*r*p and r*y <= s*r*p."""
    size_x, size_y, size_p = t.scale(sign_x, x), t.scale(sign_y, y), t.scale(sign_x * sign_y, p)
    premise = t.and_(t.le(t.ONE, size_x), t.le(t.ONE, size_y))
    formula = t.implies(premise, t.and_(t.le(size_x, size_p), t.le(size_y, size_p)))
    return Lemma(formula, "magnitude", (sign_x, x, sign_y, y, p))


def _range_lemmas(p: Term, x: Term, y: Term, of_y: Range, value: Valuation) -> Iterator[Lemma]:
    """Broken instances of: 0 <= x and low <= y <= high  ->  low*x <= x*y <= high*x."""
    (low, high), a, c = of_y, value(x), value(p)
    if high is not None and a >= 0 and high * a < c:
        yield plane_lemma(p, x, 0, y, high, above=True)
    if low is not None and a >= 0 and c < low * a:
        yield plane_lemma(p, x, 0, y, low, above=False)


def _point_lemmas(p: Term, x: Term, y: Term, value: Valuation) -> Iterator[Lemma]:
    """At the model's point (a, b): the exact line through each coordinate and the two tangent planes."""
    a, b = value(x), value(y)
    yield line_lemma(p, x, a, y)
    yield line_lemma(p, y, b, x)
    yield plane_lemma(p, x, a, y, b, above=True)
    yield plane_lemma(p, x, a, y, b, above=False)


def line_lemma(p: Term, x: Term, a: int, y: Term) -> Lemma:
    """``p = x*y``:  x = a  ->  p = a*y."""
    return Lemma(t.implies(t.eq(x, t.const(a)), t.eq(p, t.scale(a, y))), "line", (x, a, y, p))


def plane_lemma(p: Term, x: Term, a: int, y: Term, b: int, *, above: bool) -> Lemma:
    """``p = x*y`` against its tangent plane at (a, b), that is p - plane = (x - a) * (y - b)."""
    at_x, at_y = t.const(a), t.const(b)
    plane = t.add(t.scale(b, x), t.scale(a, y), t.const(-a * b))
    if above:
        opposite = t.or_(t.and_(t.le(x, at_x), t.le(at_y, y)), t.and_(t.le(at_x, x), t.le(y, at_y)))
        return Lemma(t.implies(opposite, t.le(p, plane)), "plane above", (x, a, y, b, p))
    same = t.or_(t.and_(t.le(x, at_x), t.le(y, at_y)), t.and_(t.le(at_x, x), t.le(at_y, y)))
    return Lemma(t.implies(same, t.le(plane, p)), "plane below", (x, a, y, b, p))


def bit_lemmas(operation: Term, others: Iterable[Term]) -> Iterator[Lemma]:
    """What a result of an operation on bits says of its operands, and of ``others`` that share one.

        x & y         0 <= x  ->  0 <= x & y <= x;  likewise y;  x, y < 0  ->  x & y <= min(x, y)
        x | y         x + y - (x & y)
        x ^ y         x + y - 2*(x & y);  x ^ y = x ^ z  ->  y = z
        x >> s        between 0, or -1 for x < 0, and x;  s = 0  ->  x;  0 <= x and 1 <= s  ->  2*(x >> s) <= x
        x << s        x = 0  ->  0;  s = 0  ->  x

    Operands beyond 66 bits are another matter; about those there are no lemmas.
    """
    x, y = operation.args
    if not all(map(fits, operation.args)):
        return
    match operation.kind:
        case TermKind.BITAND:
            yield _and_lemma(x, y, operation)
        case TermKind.BITOR:
            common = t.bit_and(x, y)
            if common.kind is TermKind.BITAND:
                yield Lemma(t.eq(operation, t.sub(t.add(x, y), common)), "bits or", (x, y, operation, common))
        case TermKind.BITXOR:
            common = t.bit_and(x, y)
            if common.kind is TermKind.BITAND:
                apart = t.sub(t.add(x, y), t.scale(2, common))
                yield Lemma(t.eq(operation, apart), "bits xor", (x, y, operation, common))
            for other in others:
                if other.kind is TermKind.BITXOR and other is not operation and all(map(fits, other.args)):
                    yield from _injective_lemmas(operation, other)
        case TermKind.SHR:
            above = t.implies(t.le(t.ZERO, x), t.and_(t.le(t.ZERO, operation), t.le(operation, x)))
            below = t.implies(t.lt(x, t.ZERO), t.and_(t.le(x, operation), t.lt(operation, t.ZERO)))
            same = t.implies(t.eq(y, t.ZERO), t.eq(operation, x))
            half = t.implies(t.and_(t.le(t.ZERO, x), t.le(t.ONE, y)), t.le(t.scale(2, operation), x))
            yield Lemma(t.and_(above, below, same, half), "bits shift right", (x, y, operation))
        case _:
            zero = t.implies(t.eq(x, t.ZERO), t.eq(operation, t.ZERO))
            same = t.implies(t.eq(y, t.ZERO), t.eq(operation, x))
            yield Lemma(t.and_(zero, same), "bits shift left", (x, y, operation))


def _and_lemma(x: Term, y: Term, p: Term) -> Lemma:
    def below(side: Term) -> Term:
        return t.implies(t.le(t.ZERO, side), t.and_(t.le(t.ZERO, p), t.le(p, side)))

    negative = t.implies(t.and_(t.lt(x, t.ZERO), t.lt(y, t.ZERO)), t.and_(t.le(p, x), t.le(p, y)))
    return Lemma(t.and_(below(x), below(y), negative), "bits and", (x, y, p))


def _injective_lemmas(p: Term, q: Term) -> Iterator[Lemma]:
    """``p = x ^ y`` and ``q = x ^ z`` are equal only if y and z are."""
    for x in dict.fromkeys(p.args):
        if x in q.args:
            y, z = (side.args[side.args[0] is x] for side in (p, q))
            yield Lemma(t.implies(t.eq(p, q), t.eq(y, z)), "bits xor same", (x, y, p, z, q))


def bound_lemmas(terms: Iterable[Term]) -> Iterator[Lemma]:
    """What bounds the products and quotients among ``terms`` by the static intervals of their arguments.

    The encoding for Z3 asserts such intervals as they are; a certificate has to argue for them.
    """
    for term in terms:
        if term.kind is TermKind.PRODUCT:
            yield from _product_bounds(term)
        elif term.kind is TermKind.DIV and is_opaque_quotient(term):
            yield from _quotient_bounds(term)


def _product_bounds(p: Term) -> Iterator[Lemma]:
    """The four planes through the corners of the factors' ranges, and the signs."""
    x, y = split_product(p)
    for a in (x.low, x.high):
        for b in (y.low, y.high):
            if a is not None and b is not None:
                yield plane_lemma(p, x, a, y, b, above=(a is x.low) != (b is y.low))
    yield Lemma(t.implies(t.or_(t.eq(x, t.ZERO), t.eq(y, t.ZERO)), t.eq(p, t.ZERO)), "zero", (x, y, p))
    for sign_x in (1, -1):
        for sign_y in (1, -1):
            yield magnitude_lemma(p, sign_x, x, sign_y, y)
    if y.kind is TermKind.PRODUCT:
        yield from _product_bounds(y)


def _quotient_bounds(q: Term) -> Iterator[Lemma]:
    """``low <= x // d <= high``, as ``d*q + d`` and ``d*q`` say against ``low*d`` and ``high*d + d``."""
    d = q.args[1]
    m = t.mul(d, q)
    if q.low is not None:
        yield order_lemma(d, d, (1, q, m), (1, t.const(q.low), t.scale(q.low, d)))
    if q.high is not None:
        yield order_lemma(d, d, (1, t.const(q.high), t.scale(q.high, d)), (1, q, m))
    for sign in (1, -1):
        yield magnitude_lemma(m, 1, d, sign, q)


def shift_lemmas(terms: Iterable[Term]) -> Iterator[Lemma]:
    """``x = y + c*k  ->  x // c = y // c + k``, for quotients ``y // c`` by constants and dividends x among ``terms``.

    Terms are written with whole multiples taken out of quotients, so that this says nothing to who made them; a solver
    that reads the two dividends apart may look for it forever.
    """
    divided = [term for term in dict.fromkeys(terms) if term.kind in (TermKind.DIV, TermKind.MOD)]
    dividends = list(dict.fromkeys(term.args[0] for term in divided))
    for p in divided:
        if p.kind is not TermKind.DIV or is_opaque_quotient(p):
            continue
        y, c = p.args
        for x in dividends:
            constant, parts = t.linear_parts(t.sub(x, y))
            if parts and all(number % c.value == 0 for number in (constant, *(factor for factor, _ in parts))):
                k = t.add(t.const(constant // c.value), *(t.scale(f // c.value, part) for f, part in parts))
                formula = t.eq(t.floordiv(x, c), t.add(p, k))
                yield Lemma(formula, "shift", (x, y, c.value, k, p))
