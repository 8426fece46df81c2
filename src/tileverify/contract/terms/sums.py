"""Linear sums, division, minima, wraps: integer terms without a case split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Final

from .nodes import ZERO, Term, TermKind, const, make


# ------------------------------------------------------------------------------------ linear integers
def linear_parts(term: Term) -> tuple[int, tuple[tuple[int, Term], ...]]:
    """``term`` as ``constant + sum(coefficient * summand)``; no summand is a sum or a constant."""
    if term.kind is TermKind.CONST:
        return term.value, ()
    if term.kind is TermKind.SUM:
        constant, coefficients = term.payload
        return constant, tuple(zip(coefficients, term.args, strict=True))
    return 0, ((1, term),)


def from_linear(constant: int, parts: Mapping[Term, int]) -> Term:
    """The inverse of `linear_parts`; zero coefficients are dropped."""
    if _has_remainder(parts):
        parts = _rejoined(parts)
    terms = [t for t, c in parts.items() if c]
    if not terms:
        return const(constant)
    if len(terms) > 1:
        terms.sort(key=_DIGEST)
    elif constant == 0 and parts[terms[0]] == 1:
        return terms[0]
    coefficients = [parts[t] for t in terms]
    low, high = _interval(constant, zip(terms, coefficients, strict=True))
    return make(TermKind.SUM, tuple(terms), payload=(constant, tuple(coefficients)), low=low, high=high)


_DIGEST: Final = attrgetter("digest")


def _has_remainder(parts: Iterable[Term]) -> bool:
    for t in parts:  # noqa: SIM110  runs for every sum, where a generator costs more than the test
        if t.kind is TermKind.MOD:
            return True
    return False


def _interval(constant: int, items: Iterable[tuple[Term, int]]) -> tuple[int | None, int | None]:
    """Bounds of ``constant + sum(c * t)``."""
    low: int | None = constant
    high: int | None = constant
    for t, c in items:
        if c:
            first, second = (t.low, t.high) if c > 0 else (t.high, t.low)
            low = None if low is None or first is None else low + c * first
            high = None if high is None or second is None else high + c * second
    return low, high


def _rejoined(parts: Mapping[Term, int]) -> Mapping[Term, int]:
    """Replace ``d * (x // d) + x % d`` by x: a reshape there and back turns a lane into this sum."""
    joined = dict(parts)
    for rest in parts:
        if rest.kind is TermKind.MOD and rest.args[1].kind is TermKind.CONST:
            x, divisor = rest.args
            factor, whole = joined.get(rest, 0), floordiv(x, divisor)
            if factor and joined.get(whole) == factor * divisor.value:
                del joined[rest], joined[whole]
                constant, summands = linear_parts(x)
                if constant:
                    return parts  # the sum would need the constant: leave it as it is
                for c, t in summands:
                    joined[t] = joined.get(t, 0) + factor * c
    return joined


def add(*terms: Term) -> Term:
    constant, parts = 0, dict[Term, int]()
    for term in terms:
        constant += _collect(parts, 1, term)
    return from_linear(constant, parts)


def combination(constant: int, coefficients: Iterable[int], terms: Iterable[Term]) -> Term:
    """``constant + sum(coefficient * term)``."""
    parts: dict[Term, int] = {}
    for coefficient, term in zip(coefficients, terms, strict=True):
        constant += _collect(parts, coefficient, term)
    return from_linear(constant, parts)


def _collect(parts: dict[Term, int], factor: int, term: Term) -> int:
    """Add the summands of ``factor * term`` to ``parts``; return its constant."""
    if term.kind is TermKind.CONST:
        return factor * term.value
    if term.kind is not TermKind.SUM:
        parts[term] = parts.get(term, 0) + factor
        return 0
    constant, coefficients = term.payload
    for t, c in zip(term.args, coefficients, strict=True):
        parts[t] = parts.get(t, 0) + factor * c
    return factor * int(constant)


def scale(factor: int, term: Term) -> Term:
    if factor == 1:
        return term
    parts: dict[Term, int] = {}
    constant = _collect(parts, factor, term)
    return from_linear(constant, parts)


def neg(term: Term) -> Term:
    return scale(-1, term)


def sub(a: Term, b: Term) -> Term:
    parts: dict[Term, int] = {}
    constant = _collect(parts, 1, a) + _collect(parts, -1, b)
    return from_linear(constant, parts)


def difference(a: Term, b: Term) -> tuple[int | None, int | None]:
    """The static interval of ``a - b``, without building the term `sub` if possible."""
    parts: dict[Term, int] = {}
    constant = _collect(parts, 1, a) + _collect(parts, -1, b)
    if _has_remainder(parts):
        term = from_linear(constant, parts)
        return term.low, term.high
    return _interval(constant, parts.items())


# --------------------------------------------------------------------------------------- division
def floordiv(a: Term, b: Term) -> Term:
    """``floor(a / b)``."""
    if b.kind is TermKind.CONST and b.value != 0:
        return _floordiv_const(a, b.value)
    if a is ZERO:
        return ZERO
    low: int | None = None
    high: int | None = None
    if _positive_divisor(b):
        least = max(b.low or 0, 1)
        if a.low is not None:
            low = a.low // least if a.low < 0 else 0 if b.high is None else a.low // max(b.high, 1)
        if a.high is not None:
            high = a.high // least if a.high >= 0 else -1
    elif a.low is not None and a.high is not None:
        bound = max(abs(a.low), abs(a.high))
        low, high = -bound, bound
    return make(TermKind.DIV, (a, b), low=low, high=high)


def _positive_divisor(b: Term) -> bool:
    """Whether ``b`` is positive unless it is 0; TV402 excludes a divisor 0."""
    return b.low is not None and b.low >= 0


def _floordiv_const(a: Term, divisor: int) -> Term:
    if divisor == 1:
        return a
    if divisor < 0:
        return _floordiv_const(neg(a), -divisor)
    if a.kind is TermKind.CONST:
        return const(a.value // divisor)
    if a.low is not None and a.high is not None and a.low // divisor == a.high // divisor:
        return const(a.low // divisor)
    # floor((d*q + r) / d) = q + floor(r / d): move divisible summands out of the quotient.
    constant, summands = linear_parts(a)
    outside = {t: c // divisor for c, t in summands if c % divisor == 0}
    if outside or constant // divisor:
        rest = from_linear(constant % divisor, {t: c for c, t in summands if c % divisor})
        return add(from_linear(constant // divisor, outside), _floordiv_const(rest, divisor))
    # floor(floor(x / p) / q) = floor(x / (p*q)) for positive p, q.
    if a.kind is TermKind.DIV and a.args[1].kind is TermKind.CONST and a.args[1].value > 0:
        return _floordiv_const(a.args[0], a.args[1].value * divisor)
    low = None if a.low is None else a.low // divisor
    high = None if a.high is None else a.high // divisor
    return make(TermKind.DIV, (a, const(divisor)), low=low, high=high)


def floormod(a: Term, b: Term) -> Term:
    """``a - b * floor(a / b)``: has the sign of the divisor, like Python's ``%``."""
    if b.kind is TermKind.CONST and b.value > 0:
        return _floormod_const(a, b.value)
    if a is ZERO:
        return ZERO
    low: int | None = None
    high: int | None = None
    if _positive_divisor(b):
        low, high = 0, None if b.high is None else max(b.high - 1, 0)
        if a.low is not None and a.low >= 0 and a.high is not None:
            high = a.high if high is None else min(high, a.high)
    elif b.low is not None and b.high is not None:
        bound = max(abs(b.low), abs(b.high)) - 1
        low, high = -bound, bound
    return make(TermKind.MOD, (a, b), low=low, high=high)


def _floormod_const(a: Term, divisor: int, depth: int = 0) -> Term:
    if divisor == 1:
        return ZERO
    if a.low is not None and a.high is not None and a.low // divisor == a.high // divisor:
        return add(a, const(-(a.low // divisor) * divisor))
    # Modulo the divisor, drop summands congruent to 0, and wraps at a multiple of the divisor.
    constant, summands = linear_parts(a)
    rest = from_linear(constant % divisor, {t: c for c, t in summands if c % divisor})
    if rest is not a:
        return _floormod_const(rest, divisor, depth)
    if a.kind is TermKind.MOD and a.args[1].kind is TermKind.CONST and a.args[1].value % divisor == 0:
        return _floormod_const(a.args[0], divisor, depth)
    if a.kind is TermKind.WRAP and (1 << a.payload) % divisor == 0:
        return _floormod_const(a.args[0], divisor, depth)
    if a.kind is TermKind.ITE and depth < _DEEPEST and (chosen := _chosen_remainder(a, divisor, depth + 1)) is not None:
        return chosen
    return make(TermKind.MOD, (a, const(divisor)), low=0, high=divisor - 1)


_DEEPEST: Final = 6
"""The depth of nested choices that a remainder enters: shared choices would be visited many times."""


def _chosen_remainder(choice: Term, divisor: int, depth: int) -> Term | None:
    """The remainder of a choice if both sides have the same or constant remainders, else ``None``."""
    condition, *sides = choice.args
    first, second = (_floormod_const(side, divisor, depth) for side in sides)
    if first is second:
        return first
    if first.kind is TermKind.CONST and second.kind is TermKind.CONST:
        low, high = sorted((first.value, second.value))
        return make(TermKind.ITE, (condition, first, second), low=low, high=high)
    return None


def ceildiv(a: Term, b: Term) -> Term:
    """``ceil(a / b)``."""
    if b.kind is TermKind.CONST and b.value > 0:
        return floordiv(add(a, const(b.value - 1)), b)
    return neg(floordiv(neg(a), b))


def truncdiv(a: Term, b: Term) -> Term:
    """``a / b`` rounded towards zero (``divi`` with rounding zero)."""
    if a.low is not None and a.low >= 0 and _positive_divisor(b):
        return floordiv(a, b)
    if b.kind is TermKind.CONST and b.value != 0 and a.kind is TermKind.CONST:
        quotient = abs(a.value) // abs(b.value)
        return const(quotient if (a.value >= 0) == (b.value > 0) else -quotient)
    low = high = None
    if a.low is not None and a.high is not None:
        bound = max(abs(a.low), abs(a.high))
        low, high = -bound, bound
    return make(TermKind.TDIV, (a, b), low=low, high=high)


def truncmod(a: Term, b: Term) -> Term:
    """The remainder with the sign of the dividend (``remi`` signed)."""
    if a.low is not None and a.low >= 0 and _positive_divisor(b):
        return floormod(a, b)
    if a.kind is TermKind.CONST and b.kind is TermKind.CONST and b.value != 0:
        magnitude = abs(a.value) % abs(b.value)
        return const(magnitude if a.value >= 0 else -magnitude)
    low = None if a.low is None else min(a.low, 0)
    high = None if a.high is None else max(a.high, 0)
    if b.low is not None and b.high is not None:
        bound = max(abs(b.low), abs(b.high)) - 1
        low = -bound if low is None else max(low, -bound)
        high = bound if high is None else min(high, bound)
    return make(TermKind.TMOD, (a, b), low=low, high=high)


# ------------------------------------------------------------------------------------- min, max, wrap
def minimum(a: Term, b: Term) -> Term:
    if a is b or (a.high is not None and b.low is not None and a.high <= b.low):
        return a
    if b.high is not None and a.low is not None and b.high <= a.low:
        return b
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    highs = [h for h in (a.high, b.high) if h is not None]
    return make(TermKind.MIN, tuple(sorted((a, b))), low=low, high=min(highs) if highs else None)


def maximum(a: Term, b: Term) -> Term:
    if a is b or (a.low is not None and b.high is not None and a.low >= b.high):
        return a
    if b.low is not None and a.high is not None and b.low >= a.high:
        return b
    lows = [h for h in (a.low, b.low) if h is not None]
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return make(TermKind.MAX, tuple(sorted((a, b))), low=max(lows) if lows else None, high=high)


def fits_signed(term: Term, bits: int) -> bool:
    """Whether the static interval of ``term`` lies inside signed iN."""
    half = 1 << (bits - 1)
    return term.low is not None and term.high is not None and -half <= term.low and term.high < half


def wrap(bits: int, term: Term) -> Term:
    """The signed iN value congruent to ``term`` modulo 2**N."""
    if fits_signed(term, bits):
        return term
    half = 1 << (bits - 1)
    if term.kind is TermKind.CONST:
        return const((term.value + half) % (1 << bits) - half)
    if term.kind is TermKind.WRAP and term.payload >= bits:
        return wrap(bits, term.args[0])
    # wrap(a + c*wrap(b)) = wrap(a + c*b): drop inner wraps of at least this width.
    constant, summands = linear_parts(term)
    if any(t.kind is TermKind.WRAP and t.payload >= bits for _, t in summands):
        inner = add(
            const(constant),
            *(scale(c, t.args[0] if t.kind is TermKind.WRAP and t.payload >= bits else t) for c, t in summands),
        )
        return wrap(bits, inner)
    return make(TermKind.WRAP, (term,), payload=bits, low=-half, high=half - 1)
