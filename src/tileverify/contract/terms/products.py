"""Products, and the unsigned reading: the integer terms that may split into cases."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from .logic import ite, lt
from .nodes import ONE, ZERO, Term, TermKind, const, make
from .sums import add, fits_signed, floormod, from_linear, scale


def _product_interval(a: Term, b: Term) -> tuple[int | None, int | None]:
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return min(corners), max(corners)
    if a.low is not None and a.low >= 0 and b.low is not None and b.low >= 0:
        return a.low * b.low, None
    return None, None


def mul(a: Term, b: Term) -> Term:
    """Product; constants scale linear sums, other products stay flat with sorted factors."""
    if a.kind is TermKind.CONST:
        return scale(a.value, b)
    if b.kind is TermKind.CONST:
        return scale(b.value, a)
    if a is not b and a.kind is TermKind.ITE and a.args[1].kind is a.args[2].kind is TermKind.CONST:
        return ite(a.args[0], mul(a.args[1], b), mul(a.args[2], b))
    # Pull out a common constant factor, so that (4*x)*y and 4*(x*y) are one term.
    factor = 1
    factors: list[Term] = []
    for term in (a, b):
        if term.kind is TermKind.SUM:
            constant, coefficients = term.payload
            divisor = gcd(constant, *coefficients)
            if divisor > 1:
                factor *= divisor
                term = from_linear(
                    constant // divisor,
                    {t: c // divisor for t, c in zip(term.args, coefficients, strict=True)},
                )
        factors.extend(term.args if term.kind is TermKind.PRODUCT else (term,))
    factors.sort(key=lambda t: t.digest)
    low, high = _product_interval(a, b)
    if len(factors) == 2 and factors[0] is factors[1]:
        low = max(low or 0, 0)
    if factor > 1:
        low = None if low is None else low // factor
        high = None if high is None else high // factor
    product = make(TermKind.PRODUCT, tuple(factors), low=low, high=high)
    return scale(factor, product)


def product(terms: Iterable[Term]) -> Term:
    result = ONE
    for term in terms:
        result = mul(result, term)
    return result


def unsigned(bits: int, term: Term) -> Term:
    """The unsigned reading of a signed iN value: ``term`` modulo 2**N."""
    if term.low is not None and term.low >= 0 and term.high is not None and term.high < 1 << bits:
        return term
    if term.low is not None and term.high is not None and fits_signed(term, bits):
        # Readable and cheap for the solver: one case split instead of a modulus.
        return ite(lt(term, ZERO), add(term, const(1 << bits)), term)
    return floormod(term, const(1 << bits))
