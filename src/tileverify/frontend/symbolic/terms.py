"""Index terms: mathematical integers and booleans over launch, block, iteration and lane variables.

Terms are immutable, hash-consed (equal terms are the same object) and normalised on construction: integer
sums are linear combinations, constants fold, and a machine ``wrap`` disappears where the static interval of
its argument already fits.  An iN value is represented by its *signed* reading; ``unsigned(n, t)`` gives the
other one.  A wrap that cannot be dropped stays in the term as ``wrap``: nobody downstream may forget it.

Order among arguments follows structural digests, so that the same kernel gives the same terms in every process.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary


class Sort(enum.Enum):
    INT = "int"
    BOOL = "bool"


class Scope(enum.Enum):
    """What a variable or function symbol is shared by.

    ``LAUNCH``: every block of the launch sees one value (parameters, grid, sizes, data nobody writes).
    ``BLOCK``: one value per tile block (block ids, results of a block's own loads).
    ``ITERATION``: one value per dynamic instance of a loop body.
    ``LANE``: one value per element of a tile.
    """

    LAUNCH = "launch"
    BLOCK = "block"
    ITERATION = "iteration"
    LANE = "lane"


class Kind(enum.Enum):
    # integers
    CONST = "const"  # payload: int
    VAR = "var"  # payload: Symbol (also boolean variables)
    SUM = "sum"  # payload: (constant, coefficients); args: the distinct non-constant summands
    PRODUCT = "product"  # two or more non-constant factors
    DIV = "div"  # floor(a / b); meaningless for b = 0: the obligation TV402 excludes it
    MOD = "mod"  # a - b * floor(a / b)
    TDIV = "tdiv"  # a / b rounded towards zero
    TMOD = "tmod"  # a - b * tdiv(a, b): sign of the dividend
    MIN = "min"
    MAX = "max"
    WRAP = "wrap"  # payload: N; the signed iN value congruent to the argument modulo 2**N
    ITE = "ite"  # integer or boolean
    APPLY = "apply"  # payload: Function
    # booleans
    TRUE = "true"
    FALSE = "false"
    NOT = "not"
    AND = "and"
    OR = "or"
    LT = "lt"
    LE = "le"
    EQ = "eq"  # of integers
    IFF = "iff"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable.  ``low``/``high`` are inclusive bounds that every launch guarantees (``None``: open)."""

    name: str
    scope: Scope
    low: int | None = None
    high: int | None = None
    sort: Sort = Sort.INT


@dataclass(frozen=True, slots=True)
class Function:
    """An uninterpreted function symbol with the range of its results.

    ``array`` names the parameter whose contents it stands for (``data`` facts speak of it), if any.
    """

    name: str
    scope: Scope
    low: int | None = None
    high: int | None = None
    sort: Sort = Sort.INT
    array: str | None = None


class Term:
    """One node.  Build terms with the functions of this module, never directly."""

    __slots__ = ("kind", "payload", "args", "sort", "digest", "low", "high", "_free", "__weakref__")

    kind: Kind
    payload: Any
    args: tuple[Term, ...]
    sort: Sort
    digest: bytes
    low: int | None  # static interval of an integer term, inclusive; None: unbounded
    high: int | None
    _free: frozenset[Term] | None

    def __repr__(self) -> str:
        return render(self)

    def __lt__(self, other: Term) -> bool:
        return self.digest < other.digest

    @property
    def free(self) -> frozenset[Term]:
        """Variables and function applications that occur in this term (applications with their arguments')."""
        if self._free is None:
            found: set[Term] = set()
            for sub in postorder(self):
                if sub.kind in (Kind.VAR, Kind.APPLY):
                    found.add(sub)
            self._free = frozenset(found)
        return self._free

    @property
    def value(self) -> int:
        """The integer of a constant."""
        assert self.kind is Kind.CONST, self
        return int(self.payload)

    @property
    def symbol(self) -> Symbol:
        assert self.kind is Kind.VAR, self
        assert isinstance(self.payload, Symbol)
        return self.payload

    @property
    def function(self) -> Function:
        assert self.kind is Kind.APPLY, self
        assert isinstance(self.payload, Function)
        return self.payload


_TABLE: WeakValueDictionary[tuple[Any, ...], Term] = WeakValueDictionary()


def _make(
    kind: Kind,
    args: tuple[Term, ...] = (),
    payload: Any = None,
    sort: Sort = Sort.INT,
    low: int | None = None,
    high: int | None = None,
) -> Term:
    key = (kind, payload, args)
    term = _TABLE.get(key)
    if term is not None:
        return term
    term = Term()
    term.kind, term.payload, term.args, term.sort = kind, payload, args, sort
    digest = hashlib.blake2b(f"{kind.value}|{payload!r}|".encode(), digest_size=10)
    for arg in args:
        digest.update(arg.digest)
    term.digest = digest.digest()
    term.low, term.high, term._free = low, high, None
    _TABLE[key] = term
    return term


TRUE: Final = _make(Kind.TRUE, sort=Sort.BOOL)
FALSE: Final = _make(Kind.FALSE, sort=Sort.BOOL)


# -------------------------------------------------------------------------------------------- leaves
def const(value: int) -> Term:
    value = int(value)
    return _make(Kind.CONST, payload=value, low=value, high=value)


def boolean(value: bool) -> Term:
    return TRUE if value else FALSE


def var(
    name: str, scope: Scope, low: int | None = None, high: int | None = None, sort: Sort = Sort.INT
) -> Term:
    if sort is Sort.INT and low is not None and low == high:
        return const(low)
    return _make(Kind.VAR, payload=Symbol(name, scope, low, high, sort), sort=sort, low=low, high=high)


def apply(function: Function, *args: Term) -> Term:
    return _make(
        Kind.APPLY, tuple(args), payload=function, sort=function.sort, low=function.low, high=function.high
    )


ZERO: Final = const(0)
ONE: Final = const(1)


# ------------------------------------------------------------------------------------ linear integers
def linear_parts(term: Term) -> tuple[int, tuple[tuple[int, Term], ...]]:
    """``term`` as ``constant + sum(coefficient * summand)``; the summands are no sums or constants."""
    if term.kind is Kind.CONST:
        return term.value, ()
    if term.kind is Kind.SUM:
        constant, coefficients = term.payload
        return constant, tuple(zip(coefficients, term.args, strict=True))
    return 0, ((1, term),)


def from_linear(constant: int, parts: Mapping[Term, int]) -> Term:
    """The inverse of `linear_parts`; zero coefficients are dropped."""
    items = sorted(((t, c) for t, c in parts.items() if c), key=lambda item: item[0].digest)
    if not items:
        return const(constant)
    if constant == 0 and len(items) == 1 and items[0][1] == 1:
        return items[0][0]
    low: int | None = constant
    high: int | None = constant
    for t, c in items:
        first, second = (t.low, t.high) if c > 0 else (t.high, t.low)
        low = None if low is None or first is None else low + c * first
        high = None if high is None or second is None else high + c * second
    return _make(
        Kind.SUM,
        tuple(t for t, _ in items),
        payload=(constant, tuple(c for _, c in items)),
        low=low,
        high=high,
    )


def add(*terms: Term) -> Term:
    constant, parts = 0, dict[Term, int]()
    for term in terms:
        offset, summands = linear_parts(term)
        constant += offset
        for c, t in summands:
            parts[t] = parts.get(t, 0) + c
    return from_linear(constant, parts)


def scale(factor: int, term: Term) -> Term:
    constant, summands = linear_parts(term)
    return from_linear(factor * constant, {t: factor * c for c, t in summands})


def neg(term: Term) -> Term:
    return scale(-1, term)


def sub(a: Term, b: Term) -> Term:
    return add(a, neg(b))


def _product_interval(a: Term, b: Term) -> tuple[int | None, int | None]:
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return min(corners), max(corners)
    if a.low is not None and a.low >= 0 and b.low is not None and b.low >= 0:
        return a.low * b.low, None
    return None, None


def mul(a: Term, b: Term) -> Term:
    """Product; constants scale linear sums, other products stay flat with sorted factors."""
    if a.kind is Kind.CONST:
        return scale(a.value, b)
    if b.kind is Kind.CONST:
        return scale(b.value, a)
    if a is not b and a.kind is Kind.ITE and a.args[1].kind is a.args[2].kind is Kind.CONST:
        return ite(a.args[0], mul(a.args[1], b), mul(a.args[2], b))
    # Pull out a common constant factor, so that (4*x)*y and 4*(x*y) are one term.
    factor = 1
    factors: list[Term] = []
    for term in (a, b):
        if term.kind is Kind.SUM:
            constant, coefficients = term.payload
            divisor = _gcd((constant, *coefficients))
            if divisor > 1:
                factor *= divisor
                term = from_linear(
                    constant // divisor,
                    {t: c // divisor for t, c in zip(term.args, coefficients, strict=True)},
                )
        factors.extend(term.args if term.kind is Kind.PRODUCT else (term,))
    factors.sort(key=lambda t: t.digest)
    low, high = _product_interval(a, b)
    if len(factors) == 2 and factors[0] is factors[1]:
        low = max(low or 0, 0)
    if factor > 1:
        low = None if low is None else low // factor
        high = None if high is None else high // factor
    product = _make(Kind.PRODUCT, tuple(factors), low=low, high=high)
    return scale(factor, product)


def product(terms: Iterable[Term]) -> Term:
    result = ONE
    for term in terms:
        result = mul(result, term)
    return result


def _gcd(values: Iterable[int]) -> int:
    from math import gcd

    return gcd(*values)


# --------------------------------------------------------------------------------------- division
def floordiv(a: Term, b: Term) -> Term:
    """``floor(a / b)``."""
    if b.kind is Kind.CONST and b.value != 0:
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
    return _make(Kind.DIV, (a, b), low=low, high=high)


def _positive_divisor(b: Term) -> bool:
    """Whether ``b`` is positive wherever the division means anything: a divisor 0 is excluded by TV402."""
    return b.low is not None and b.low >= 0


def _floordiv_const(a: Term, divisor: int) -> Term:
    if divisor == 1:
        return a
    if divisor < 0:
        return _floordiv_const(neg(a), -divisor)
    if a.kind is Kind.CONST:
        return const(a.value // divisor)
    if a.low is not None and a.high is not None and a.low // divisor == a.high // divisor:
        return const(a.low // divisor)
    # floor((d*q + r) / d) = q + floor(r / d): divisible summands leave the quotient.
    constant, summands = linear_parts(a)
    outside = {t: c // divisor for c, t in summands if c % divisor == 0}
    if outside or constant // divisor:
        rest = from_linear(constant % divisor, {t: c for c, t in summands if c % divisor})
        return add(from_linear(constant // divisor, outside), _floordiv_const(rest, divisor))
    # floor(floor(x / p) / q) = floor(x / (p*q)) for positive p, q.
    if a.kind is Kind.DIV and a.args[1].kind is Kind.CONST and a.args[1].value > 0:
        return _floordiv_const(a.args[0], a.args[1].value * divisor)
    low = None if a.low is None else a.low // divisor
    high = None if a.high is None else a.high // divisor
    return _make(Kind.DIV, (a, const(divisor)), low=low, high=high)


def floormod(a: Term, b: Term) -> Term:
    """``a - b * floor(a / b)``: the sign of the divisor, as Python's ``%``."""
    if b.kind is Kind.CONST and b.value > 0:
        divisor = b.value
        if divisor == 1:
            return ZERO
        if a.kind is Kind.CONST:
            return const(a.value % divisor)
        if a.low is not None and a.high is not None and a.low // divisor == a.high // divisor:
            return add(a, const(-(a.low // divisor) * divisor))
        # Summands congruent to 0 do not matter modulo the divisor.
        constant, summands = linear_parts(a)
        rest = from_linear(constant % divisor, {t: c for c, t in summands if c % divisor})
        if rest is not a:
            return floormod(rest, b)
        if a.kind is Kind.MOD and a.args[1].kind is Kind.CONST and a.args[1].value % divisor == 0:
            return floormod(a.args[0], b)
        return _make(Kind.MOD, (a, b), low=0, high=divisor - 1)
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
    return _make(Kind.MOD, (a, b), low=low, high=high)


def ceildiv(a: Term, b: Term) -> Term:
    return neg(floordiv(neg(a), b)) if b.kind is not Kind.CONST else floordiv(add(a, const(b.value - 1)), b) \
        if b.value > 0 else neg(floordiv(neg(a), b))


def truncdiv(a: Term, b: Term) -> Term:
    """``a / b`` rounded towards zero (``divi`` with rounding zero)."""
    if a.low is not None and a.low >= 0 and _positive_divisor(b):
        return floordiv(a, b)
    if b.kind is Kind.CONST and b.value != 0 and a.kind is Kind.CONST:
        quotient = abs(a.value) // abs(b.value)
        return const(quotient if (a.value >= 0) == (b.value > 0) else -quotient)
    low = high = None
    if a.low is not None and a.high is not None:
        bound = max(abs(a.low), abs(a.high))
        low, high = -bound, bound
    return _make(Kind.TDIV, (a, b), low=low, high=high)


def truncmod(a: Term, b: Term) -> Term:
    """The remainder with the sign of the dividend (``remi`` signed)."""
    if a.low is not None and a.low >= 0 and _positive_divisor(b):
        return floormod(a, b)
    if a.kind is Kind.CONST and b.kind is Kind.CONST and b.value != 0:
        magnitude = abs(a.value) % abs(b.value)
        return const(magnitude if a.value >= 0 else -magnitude)
    low = None if a.low is None else min(a.low, 0)
    high = None if a.high is None else max(a.high, 0)
    if b.low is not None and b.high is not None:
        bound = max(abs(b.low), abs(b.high)) - 1
        low = -bound if low is None else max(low, -bound)
        high = bound if high is None else min(high, bound)
    return _make(Kind.TMOD, (a, b), low=low, high=high)


# ------------------------------------------------------------------------------------- min, max, wrap
def minimum(a: Term, b: Term) -> Term:
    if a is b or (a.high is not None and b.low is not None and a.high <= b.low):
        return a
    if b.high is not None and a.low is not None and b.high <= a.low:
        return b
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    highs = [h for h in (a.high, b.high) if h is not None]
    return _make(Kind.MIN, tuple(sorted((a, b))), low=low, high=min(highs) if highs else None)


def maximum(a: Term, b: Term) -> Term:
    if a is b or (a.low is not None and b.high is not None and a.low >= b.high):
        return a
    if b.low is not None and a.high is not None and b.low >= a.high:
        return b
    lows = [h for h in (a.low, b.low) if h is not None]
    high = None if a.high is None or b.high is None else max(a.high, b.high)
    return _make(Kind.MAX, tuple(sorted((a, b))), low=max(lows) if lows else None, high=high)


def fits_signed(term: Term, bits: int) -> bool:
    """Whether the static interval of ``term`` lies inside signed iN."""
    half = 1 << (bits - 1)
    return term.low is not None and term.high is not None and -half <= term.low and term.high < half


def wrap(bits: int, term: Term) -> Term:
    """The signed iN value congruent to ``term`` modulo 2**N."""
    if fits_signed(term, bits):
        return term
    half = 1 << (bits - 1)
    if term.kind is Kind.CONST:
        return const((term.value + half) % (1 << bits) - half)
    if term.kind is Kind.WRAP and term.payload >= bits:
        return wrap(bits, term.args[0])
    # wrap(a + c*wrap(b)) = wrap(a + c*b): inner wraps of at least this width do not matter.
    constant, summands = linear_parts(term)
    if any(t.kind is Kind.WRAP and t.payload >= bits for _, t in summands):
        inner = add(
            const(constant),
            *(scale(c, t.args[0] if t.kind is Kind.WRAP and t.payload >= bits else t) for c, t in summands),
        )
        return wrap(bits, inner)
    return _make(Kind.WRAP, (term,), payload=bits, low=-half, high=half - 1)


def unsigned(bits: int, term: Term) -> Term:
    """The unsigned reading of a signed iN value: ``term`` modulo 2**N."""
    if term.low is not None and term.low >= 0 and term.high is not None and term.high < 1 << bits:
        return term
    if term.low is not None and term.high is not None and fits_signed(term, bits):
        # Readable and cheap for the solver: one case split instead of a modulus.
        return ite(lt(term, ZERO), add(term, const(1 << bits)), term)
    return floormod(term, const(1 << bits))


# ------------------------------------------------------------------------------------------ booleans
def not_(a: Term) -> Term:
    if a is TRUE:
        return FALSE
    if a is FALSE:
        return TRUE
    if a.kind is Kind.NOT:
        return a.args[0]
    if a.kind is Kind.LT:
        return le(a.args[1], a.args[0])
    if a.kind is Kind.LE:
        return lt(a.args[1], a.args[0])
    return _make(Kind.NOT, (a,), sort=Sort.BOOL)


def _complement(a: Term) -> Term | None:
    """``not_(a)`` if that term exists already: looking for contradictions should not build terms."""
    match a.kind:
        case Kind.NOT:
            return a.args[0]
        case Kind.LT:
            return _TABLE.get((Kind.LE, None, (a.args[1], a.args[0])))
        case Kind.LE:
            return _TABLE.get((Kind.LT, None, (a.args[1], a.args[0])))
    return _TABLE.get((Kind.NOT, None, (a,)))


def _junction(kind: Kind, unit: Term, zero: Term, terms: Iterable[Term]) -> Term:
    flat: dict[Term, None] = {}
    for term in terms:
        for part in term.args if term.kind is kind else (term,):
            if part is zero:
                return zero
            if part is not unit:
                flat[part] = None
    if any(_complement(part) in flat for part in flat):
        return zero
    if any(part.kind is _DUAL[kind] for part in flat):
        absorbed = _absorb(kind, flat)
        if absorbed is not None:
            return _junction(kind, unit, zero, absorbed)
    if kind is Kind.OR:
        # a < b or a == b is a <= b: the token conditions of loops meet this all the time.
        for part in flat:
            if part.kind is Kind.EQ:
                for x, y in (part.args, part.args[::-1]):
                    strict = lt(x, y)
                    if strict in flat:
                        rest = [other for other in flat if other is not part and other is not strict]
                        return _junction(kind, unit, zero, [le(x, y), *rest])
    if not flat:
        return unit
    if len(flat) == 1:
        return next(iter(flat))
    return _make(kind, tuple(sorted(flat)), sort=Sort.BOOL)


_DUAL: Final = {Kind.AND: Kind.OR, Kind.OR: Kind.AND}


def _absorb(kind: Kind, flat: Mapping[Term, None]) -> list[Term] | None:
    """Absorption, ``x or (x and y) = x``, and unit resolution, ``x or (not x and y) = x or y`` (and their duals).

    ``None`` where nothing changes.
    """
    dual, join = (_DUAL[kind], or_ if kind is Kind.AND else and_)
    kept: list[Term] = []
    changed = False
    for part in flat:
        if part.kind is dual:
            if any(arg in flat for arg in part.args):
                changed = True
                continue
            rest = [arg for arg in part.args if not_(arg) not in flat]
            if len(rest) != len(part.args):
                changed = True
                part = join(*rest)
        kept.append(part)
    return kept if changed else None


def and_(*terms: Term) -> Term:
    return _junction(Kind.AND, TRUE, FALSE, terms)


def or_(*terms: Term) -> Term:
    return _junction(Kind.OR, FALSE, TRUE, terms)


def implies(a: Term, b: Term) -> Term:
    return or_(not_(a), b)


def lt(a: Term, b: Term) -> Term:
    difference = sub(a, b)
    if difference.high is not None and difference.high < 0:
        return TRUE
    if difference.low is not None and difference.low >= 0:
        return FALSE
    return _make(Kind.LT, (a, b), sort=Sort.BOOL)


def le(a: Term, b: Term) -> Term:
    difference = sub(a, b)
    if difference.high is not None and difference.high <= 0:
        return TRUE
    if difference.low is not None and difference.low > 0:
        return FALSE
    return _make(Kind.LE, (a, b), sort=Sort.BOOL)


def eq(a: Term, b: Term) -> Term:
    if a is b:
        return TRUE
    difference = sub(a, b)
    if difference.kind is Kind.CONST:
        return boolean(difference.value == 0)
    if (difference.low is not None and difference.low > 0) or (
        difference.high is not None and difference.high < 0
    ):
        return FALSE
    # Comparing a 0/1 choice with a constant is the choice itself.
    for x, y in ((a, b), (b, a)):
        if y.kind is Kind.CONST and x.kind is Kind.ITE and x.args[1].kind is x.args[2].kind is Kind.CONST:
            return ite(x.args[0], eq(x.args[1], y), eq(x.args[2], y))
    return _make(Kind.EQ, tuple(sorted((a, b))), sort=Sort.BOOL)


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
    return _make(Kind.IFF, tuple(sorted((a, b))), sort=Sort.BOOL)


def ite(condition: Term, then: Term, otherwise: Term) -> Term:
    """``then if condition else otherwise``, of integers or of booleans."""
    if condition is TRUE or then is otherwise:
        return then
    if condition is FALSE:
        return otherwise
    if then.kind is Kind.ITE and then.args[0] is condition:
        return ite(condition, then.args[1], otherwise)
    if otherwise.kind is Kind.ITE and otherwise.args[0] is condition:
        return ite(condition, then, otherwise.args[2])
    if otherwise.kind is Kind.TMOD and (modulo := _python_modulo(condition, then, otherwise)) is not None:
        return modulo
    if then.sort is Sort.BOOL:
        if then is condition:
            return or_(condition, otherwise)
        if otherwise is condition:
            return and_(condition, then)
        if then is TRUE:
            return or_(condition, otherwise)
        if then is FALSE:
            return and_(not_(condition), otherwise)
        if otherwise is TRUE:
            return or_(not_(condition), then)
        if otherwise is FALSE:
            return and_(condition, then)
    if condition.kind is Kind.NOT:
        return ite(condition.args[0], otherwise, then)
    low = None if then.low is None or otherwise.low is None else min(then.low, otherwise.low)
    high = None if then.high is None or otherwise.high is None else max(then.high, otherwise.high)
    return _make(Kind.ITE, (condition, then, otherwise), sort=then.sort, low=low, high=high)


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
    wrapped = then.kind is Kind.WRAP and then.args[0] is total and fits_signed(b, then.payload)
    return floormod(a, b) if then is total or wrapped else None


# ------------------------------------------------------------------------------ traversal, substitution
def postorder(term: Term) -> Iterable[Term]:
    """Every distinct subterm, arguments first."""
    seen: set[Term] = set()
    stack: list[tuple[Term, bool]] = [(term, False)]
    while stack:
        current, expanded = stack.pop()
        if expanded:
            yield current
        elif current not in seen:
            seen.add(current)
            stack.append((current, True))
            stack.extend((arg, False) for arg in current.args if arg not in seen)


def rebuild(term: Term, args: tuple[Term, ...]) -> Term:
    """``term`` with other arguments, normalised again."""
    match term.kind:
        case Kind.SUM:
            constant, coefficients = term.payload
            return add(const(constant), *(scale(c, a) for c, a in zip(coefficients, args, strict=True)))
        case Kind.PRODUCT:
            return product(args)
        case Kind.WRAP:
            return wrap(term.payload, args[0])
        case Kind.APPLY:
            return apply(term.function, *args)
        case Kind.AND:
            return and_(*args)
        case Kind.OR:
            return or_(*args)
        case Kind.CONST | Kind.VAR | Kind.TRUE | Kind.FALSE:
            return term
        case _:
            return _REBUILD[term.kind](*args)


_REBUILD: Final[dict[Kind, Callable[..., Term]]] = {
    Kind.DIV: floordiv,
    Kind.MOD: floormod,
    Kind.TDIV: truncdiv,
    Kind.TMOD: truncmod,
    Kind.MIN: minimum,
    Kind.MAX: maximum,
    Kind.ITE: ite,
    Kind.NOT: not_,
    Kind.LT: lt,
    Kind.LE: le,
    Kind.EQ: eq,
    Kind.IFF: iff,
}


def transform(term: Term, leaf: Callable[[Term], Term | None], memo: dict[Term, Term] | None = None) -> Term:
    """Rewrite bottom-up: ``leaf(t)`` replaces ``t`` (already rewritten arguments) unless it gives ``None``."""
    done: dict[Term, Term] = {} if memo is None else memo
    if term in done:
        return done[term]
    for sub_term in postorder(term):
        if sub_term in done:
            continue
        args = tuple(done[arg] for arg in sub_term.args)
        rebuilt = sub_term if args == sub_term.args else rebuild(sub_term, args)
        replaced = leaf(rebuilt)
        done[sub_term] = rebuilt if replaced is None else replaced
    return done[term]


def substitute(term: Term, replacements: Mapping[Term, Term], memo: dict[Term, Term] | None = None) -> Term:
    """Replace variables or applications (compared before their arguments are rewritten)."""
    if not replacements or not (term.free & replacements.keys()):
        return term
    done: dict[Term, Term] = {} if memo is None else memo
    for sub_term in postorder(term):
        if sub_term in done:
            continue
        if sub_term in replacements:
            done[sub_term] = replacements[sub_term]
        else:
            args = tuple(done[arg] for arg in sub_term.args)
            done[sub_term] = sub_term if args == sub_term.args else rebuild(sub_term, args)
    return done[term]


def literals(condition: Term) -> dict[Term, Term]:
    """What a true ``condition`` says of boolean terms: each known one with ``TRUE`` or ``FALSE``."""
    known: dict[Term, Term] = {}
    stack = [(condition, True)]
    while stack:
        term, truth = stack.pop()
        if term.kind is Kind.NOT:
            stack.append((term.args[0], not truth))
        elif term.kind is (Kind.AND if truth else Kind.OR):
            stack.extend((arg, truth) for arg in term.args)
        elif term is not TRUE and term is not FALSE:
            known[term] = boolean(truth)
            if term.kind in (Kind.LT, Kind.LE):
                known[not_(term)] = boolean(not truth)
    return known


def assuming(term: Term, known: Mapping[Term, Term]) -> Term:
    """``term`` simplified where the boolean terms in ``known`` have those values (see `literals`)."""
    done: dict[Term, Term] = dict(known)
    if not known:
        return term
    for sub_term in postorder(term):
        if sub_term not in done:
            args = tuple(done[arg] for arg in sub_term.args)
            done[sub_term] = sub_term if args == sub_term.args else rebuild(sub_term, args)
    return done[term]


# --------------------------------------------------------------------------------------------- render
_INFIX: Final = {Kind.LT: "<", Kind.LE: "<=", Kind.EQ: "==", Kind.IFF: "==", Kind.DIV: "//", Kind.MOD: "%"}
_CALL: Final = {Kind.TDIV: "tdiv", Kind.TMOD: "trem", Kind.MIN: "min", Kind.MAX: "max"}


def render(term: Term, limit: int = 400) -> str:
    """``term`` as text for people: infix, names as in the launch spec; longer than ``limit`` is cut."""
    text = _render(term, 0)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _render(term: Term, depth: int) -> str:
    if depth > 40:
        return "..."

    def inner(sub_term: Term) -> str:
        text = _render(sub_term, depth + 1)
        simple = sub_term.kind in (Kind.CONST, Kind.VAR, Kind.APPLY, Kind.MIN, Kind.MAX, Kind.WRAP)
        return text if simple and not text.startswith("-") else f"({text})"

    match term.kind:
        case Kind.CONST:
            return str(term.value)
        case Kind.VAR:
            return term.symbol.name
        case Kind.TRUE | Kind.FALSE:
            return term.kind.value
        case Kind.SUM:
            constant, coefficients = term.payload
            text = ""
            ordered = sorted(zip(coefficients, term.args, strict=True), key=lambda item: _render(item[1], depth + 1))
            for c, t in sorted(ordered, key=lambda item: item[0] < 0):
                piece = inner(t) if abs(c) == 1 else f"{inner(t)}*{abs(c)}"
                text += (" - " if c < 0 else " + ") + piece if text else ("-" if c < 0 else "") + piece
            if constant:
                text += f" {'-' if constant < 0 else '+'} {abs(constant)}"
            return text
        case Kind.PRODUCT:
            return "*".join(sorted(inner(a) for a in term.args))
        case Kind.WRAP:
            return f"wrap{term.payload}({_render(term.args[0], depth + 1)})"
        case Kind.APPLY:
            return f"{term.function.name}[{', '.join(_render(a, depth + 1) for a in term.args)}]"
        case Kind.ITE:
            c, t, f = term.args
            return f"{inner(t)} if {inner(c)} else {inner(f)}"
        case Kind.NOT:
            if term.args[0].kind is Kind.EQ:
                return f"{inner(term.args[0].args[0])} != {inner(term.args[0].args[1])}"
            return f"not {inner(term.args[0])}"
        case Kind.AND | Kind.OR:
            return f" {term.kind.value} ".join(sorted(inner(a) for a in term.args))
        case kind if kind in _INFIX:
            return f"{inner(term.args[0])} {_INFIX[kind]} {inner(term.args[1])}"
        case kind:
            return f"{_CALL[kind]}({', '.join(_render(a, depth + 1) for a in term.args)})"
