"""Arrays of exact numbers (residues, and a float64 *shadow* that decides comparisons), and what a constant means.

A program holds roundings: 1e-5 as an f32 is 0.00000999999974737875163555145263671875.  The number meant is taken to be
the first of these that rounds to the constant in its format, and so it is the same number in every format:

1. a decimal fraction of few digits, or an integer;
2. a small fraction of ln 2, log2(e), pi, ... (`_symbols`), of the square root of an integer, or of such a root times
   one of those;
3. 1 / n for an integer n, or a small fraction;
4. the shortest decimal fraction that rounds to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NoReturn

import numpy as np

from ..frontend.bytecode.model import ScalarType
from . import field
from .field import LANES, SLOTS, Array, NearTie, ShadowLost, Undecided, logarithm

DIGITS: Final = {"f64": 53, "f32": 24, "tf32": 11, "f16": 11, "bf16": 8}
"""Bits of the formats in which constants are looked up; those of all others are exact."""
_FEW: Final = {53: 12, 24: 6, 11: 4, 8: 3}
"""Decimal digits that a constant may have before it is taken for something else than what it says."""
_SMALL: Final = {53: 4096, 24: 96, 11: 4, 8: 1}
_WRITTEN: Final = (Fraction("1.0507009873554805"), Fraction("1.6732632423543772"))
"""Of selu: numbers that have no shorter form, and stand in programs with all their digits."""
_ROOTS: Final = {53: 1 << 20, 24: 1 << 12, 11: 4, 8: 1}


def numbers_of(values: Array, name: str = "f64") -> Array:
    """The numbers that an array of floats of the format ``name`` stands for."""
    values = np.asarray(values, np.float64)
    result = np.zeros(values.shape, NUMBER)
    finite = np.isfinite(values)
    result["s"] = np.where(finite, 0, values)
    whole = finite & (np.rint(values) == values) & (np.abs(values) < 2**53)
    if whole.any():
        result[whole] = of_integers(values[whole].astype(np.int64))
    rest = finite & ~whole
    if rest.any():
        distinct, which = np.unique(values[rest], return_inverse=True)
        found = np.zeros(distinct.shape, NUMBER)
        for place, value in enumerate(distinct.tolist()):
            shadow, residues, dead = _meant(value, DIGITS.get(name, 53))
            found["s"][place], found["r"][place], found["dead"][place] = shadow, residues, dead
        result[rest] = found[which]
    return result


@lru_cache(maxsize=4096)
def _meant(value: float, bits: int) -> tuple[float, Array, int]:
    """The shadow, the residues (SLOTS,) and the dead ones of the number that a float with so many bits stands for."""
    sign, size = (-1, -value) if value < 0 else (1, value)
    decimal = _shortest(size, bits)
    if _digits(decimal) <= _FEW[bits]:
        return sign * float(decimal), _rational(sign * decimal), 0
    for shadow, symbol, factor, radicand in _candidates(size, bits):
        residues = field.multiply(symbol, _rational(sign * factor))
        dead = 0
        if radicand != 1:
            found, squares = field.root(_rational(radicand))
            residues = field.multiply(residues, found)
            dead = int(packed(~squares))
        return sign * shadow, residues, dead
    return sign * float(decimal), _rational(sign * decimal), 0


def _candidates(size: float, bits: int) -> Iterator[tuple[float, Array, Fraction, Fraction]]:
    """(float64, residues of a symbol, a factor, what the root is taken of)"""
    one = np.ones(SLOTS, np.uint64)
    small, root = _SMALL[bits], _ROOTS[bits]
    factor = _fraction(size, small, bits)
    if factor is not None:
        yield float(factor), one, factor, Fraction(1)
    for written in _WRITTEN:
        if abs(float(written) / size - 1) < 2.0**-bits:
            yield float(written), one, written, Fraction(1)
    inverse = _fraction(1 / size, 1, bits) if size < 1 else None
    if inverse is not None and inverse < 1 << (bits // 2 + 1):
        yield float(1 / inverse), one, 1 / inverse, Fraction(1)
    for value, residues in _symbols():
        ratio = size / value
        short = _shortest(ratio, bits)
        factor = short if _digits(short) <= 3 else _fraction(ratio, small, bits)
        if factor is not None:
            yield value * float(factor), residues, factor, Fraction(1)
    for value, residues in ((1.0, one), *_symbols()):
        square = (size / value) ** 2
        for under in (square, 1 / square):
            whole = round(under)
            if 1 < whole < root and abs(math.sqrt(whole / under) - 1) < 2.0**-bits:
                radicand = Fraction(whole) if under is square else Fraction(1, whole)
                yield value * math.sqrt(radicand), residues, Fraction(1), radicand


def _fraction(value: float, largest: int, bits: int) -> Fraction | None:
    """The fraction with a small denominator that is ``value`` but for rounding."""
    if not 1e-12 < value < 1e12:
        return None
    found = Fraction(value).limit_denominator(largest)
    near = found > 0 and found.numerator <= 1 << (bits // 2 + 1)
    return found if near and abs(float(found) / value - 1) < 2.0**-bits else None


def _shortest(size: float, bits: int) -> Fraction:
    """The decimal fraction with the fewest digits within half a last place."""
    if bits == 53:
        return Fraction(repr(size))
    for digits in range(1, 18):
        text = f"{size:.{digits - 1}e}"
        if abs(float(text) / size - 1) <= 2.0**-bits * (1 if bits < 53 else 0.5):
            mantissa = math.frexp(size)[0]
            if abs(float(text) - size) <= 0.5 * math.ldexp(1.0, math.frexp(size)[1] - bits) or mantissa == 0.5:
                return Fraction(text)
    return Fraction(size)


def _digits(value: Fraction) -> int:
    """How many decimal digits say it."""
    power = 0
    while value.denominator != 1 and power < 400:
        value, power = value * 10, power + 1
    return len(str(value.numerator).rstrip("0")) or 1


def _rational(value: Fraction) -> Array:
    return field.of_fraction(value.numerator, value.denominator)


@lru_cache(maxsize=1)
def _symbols() -> tuple[tuple[float, Array], ...]:
    """Numbers that no fraction is, each with residues of its own, and their inverses; e is 2**log2(e)."""
    loga, root_pi = drawn(101), drawn(103)
    ten, _ = logarithm(field.of_fraction(10, 1))
    ten[field.level(0)] = drawn(102)[field.level(0)]
    log10 = field.multiply(ten, loga)
    inverse = field.inverse
    log2e = inverse(loga)
    pi = field.multiply(root_pi, root_pi)
    e = field.exponential(log2e)
    root_two, _ = field.root(field.of_fraction(2, 1))
    per_root_pi = inverse(root_pi)
    return (
        (math.log(2), loga),
        (math.log2(math.e), log2e),
        (math.log(10), log10),
        (1 / math.log(10), inverse(log10)),
        (math.log2(10), field.multiply(log10, log2e)),
        (math.log10(2), field.multiply(loga, inverse(log10))),
        (math.pi, pi),
        (1 / math.pi, inverse(pi)),
        (math.sqrt(math.pi), root_pi),
        (1 / math.sqrt(math.pi), per_root_pi),
        (math.sqrt(2 / math.pi), field.multiply(root_two, per_root_pi)),
        (1 / math.sqrt(2 * math.pi), field.multiply(inverse(root_two), per_root_pi)),
        (math.e, e),
    )


def drawn(key: int) -> Array:
    """Residues (SLOTS,) that depend on nothing but ``key``."""
    return field.reduced(field.scrambled(np.arange(SLOTS, dtype=np.uint64), key))


def log2e() -> Array:
    """log2(e) as a number."""
    return numbers_of(np.asarray(math.log2(math.e)))


def ln(base: int) -> Array:
    """The natural logarithm of 2 or 10 as a number."""
    return numbers_of(np.asarray(math.log(base)))


# ----------------------------------------------------------------------------------------------------------- float bits
# The bits of floats as integers: what goes there and back is what it was, all else is not decided.


_MOVING: Final = frozenset({np.broadcast_to, np.reshape, np.transpose, np.squeeze, np.expand_dims})


class Bits(np.ndarray):
    """Numbers of the float type ``element``, which stand where their bits would.  They may be moved, and nothing else:
    a rule for integers that looks at them finds that it is not decided."""

    element: ScalarType | None = None

    @classmethod
    def of(cls, numbers: Array, element: ScalarType | None) -> Bits:
        found = np.ndarray.view(numbers, cls)
        found.element = element
        return found

    def __array_finalize__(self, whole: object) -> None:
        self.element = getattr(whole, "element", None)

    def numbers(self) -> Array:
        return np.ndarray.view(self, np.ndarray)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in _MOVING or not isinstance(args[0], Bits):
            self._asked()
        return Bits.of(func(args[0].numbers(), *args[1:], **kwargs), self.element)

    def _asked(self, *_: Any, **__: Any) -> NoReturn:
        raise Undecided("the bits of floats")

    __array_ufunc__ = astype = view = tobytes = _asked


# ---------------------------------------------------------------------------------------------------------------- exact
# Arrays of numbers that are exact: residues, and a float64 *shadow* that decides comparisons.
#
# An element (`NUMBER`) holds the residues ``r``; a bit of ``dead`` for every residue that laws of real numbers do not
# hold for any more (equal residues still mean equal numbers); the shadow ``s``; and bounds ``n`` and ``d`` of the
# degrees of numerator and denominator in what was drawn.  The array is an ordinary one of NumPy, so that reshaping,
# slicing and selecting are NumPy's.
#
# Infinity and NaN are their shadows, with residues of 0.  An operation with such an operand gives one again, or an
# integer (1 / inf, exp(-inf)).
#
# That is so for what is infinite or undefined over the real numbers, too (a mask's -inf, 1 / 0, log 0).  Where finite
# numbers give an infinity because float64 ends there, the number is *lost* (a bit of ``dead``), and so is what is made
# of it: it is not compared, and neither equal nor different.


NUMBER: Final[np.dtype[np.void]] = np.dtype(
    [("r", np.uint32, (SLOTS,)), ("dead", np.uint16), ("n", np.float32), ("d", np.float32), ("s", np.float64)]
)
_BITS: Final = (1 << np.arange(SLOTS)).astype(np.uint16)
LOST: Final = np.uint16(1 << 15)
"""The bit of ``dead`` of a number whose shadow is not its own."""
CLOSE: Final = 1e-11
CLOSEST: Final = 1e-15


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an array of numbers: ``r`` of shape (SLOTS, ...), the others of its own shape."""

    r: Array
    s: Array
    dead: Array
    n: Array
    d: Array


def parts(array: Array) -> Parts:
    """Residues as uint64, slots first."""
    r = np.ascontiguousarray(slots_first(array["r"]), np.uint64)
    return Parts(r, array["s"], array["dead"], array["n"], array["d"])


def slots_first(residues: Array) -> Array:
    """A view of what has the slots last (``np.moveaxis`` takes as long as all else for a small array)."""
    last = residues.ndim - 1
    return residues.transpose(last, *range(last))


def built(found: Parts, *operands: Array, lost: Array | None = None) -> Array:
    """The array of these parts; ``operands``: shadows that they were computed of, broadcast to one shape; ``lost``:
    lanes that are lost from here on."""
    result = np.empty(found.s.shape, NUMBER)
    slots_first(result["r"])[...] = found.r
    result["s"], result["dead"], result["n"], result["d"] = found.s, found.dead, found.n, found.d
    if lost is not None:
        result["dead"] |= np.where(lost, LOST, np.uint16(0))
    finite = np.isfinite(found.s)
    if not finite.all():
        _clear(result, ~finite)
    for shadow in operands:
        if not np.isfinite(shadow).all():
            odd = np.broadcast_to(~np.isfinite(shadow), finite.shape) & finite
            whole = np.rint(found.s)
            if (whole != found.s)[odd & ~is_lost(result)].any():
                raise Undecided("a finite number that is no integer, of an infinite one")
            _set_plain(result, odd, whole)
    return result


def is_lost(x: Array) -> Array:
    return np.asarray((x["dead"] & LOST) != 0)


def certain(x: Array) -> Array:
    """The shadows, where they decide something.

    :raises ShadowLost: one of them is not its number's.
    """
    if is_lost(x).any():
        raise ShadowLost
    return np.asarray(x["s"])


def beyond(shadow: Array, *operands: Array) -> Array | None:
    """The lanes in which finite ``operands`` gave what is not finite, None if there are none."""
    if np.isfinite(shadow).all():
        return None
    lanes = ~np.isfinite(shadow)
    for operand in operands:
        lanes = lanes & np.isfinite(operand)
    return np.asarray(lanes)


def _clear(result: Array, lanes: Array) -> None:
    for name in ("r", "n", "d"):
        result[name][lanes] = 0
    result["dead"][lanes] &= LOST


def _set_plain(result: Array, lanes: Array, integers: Array) -> None:
    _clear(result, lanes)
    if lanes.any():
        result["r"][lanes] = field.of_integers(integers[lanes].astype(np.int64)).T


def has_variables(x: Array) -> Array:
    """Where a number hangs on one that was drawn: padding, and contents that are numbers, do not."""
    return np.asarray(((x["n"] > 0) | (x["d"] > 0)) & ~is_zero(x))


def of_integers(values: Array) -> Array:
    """Integers (of any integer type, or booleans) as numbers."""
    values = np.asarray(values)
    wide = values.astype(np.uint64 if values.dtype == np.uint64 else np.int64)
    result = np.zeros(values.shape, NUMBER)
    result["r"] = np.moveaxis(field.of_integers(wide), 0, -1)
    result["s"] = values
    return result


# ------------------------------------------------------------------------------------------- arithmetic
def _sum_degrees(a: Parts, b: Parts) -> tuple[Array, Array]:
    return np.maximum(a.n + b.d, b.n + a.d), a.d + b.d


def add(x: Array, y: Array) -> Array:
    a, b = _both(x, y)
    n, d = _sum_degrees(a, b)
    s = a.s + b.s
    return built(Parts(field.add(a.r, b.r), s, a.dead | b.dead, n, d), a.s, b.s, lost=beyond(s, a.s, b.s))


def copied(x: Array) -> Array:
    """A copy: of a single element, which NumPy has as ``np.void``, ``np.array`` makes none."""
    return np.asarray(x).copy()


def negative(x: Array) -> Array:
    result = copied(x)
    a = parts(x)
    result["r"] = np.moveaxis(field.negated(a.r), 0, -1)
    result["s"] = -a.s
    return result


def subtract(x: Array, y: Array) -> Array:
    return add(x, negative(y))


def multiply(x: Array, y: Array) -> Array:
    a, b = _both(x, y)
    s = a.s * b.s
    found = Parts(field.multiply(a.r, b.r), s, a.dead | b.dead, a.n + b.n, a.d + b.d)
    return built(found, a.s, b.s, lost=beyond(s, a.s, b.s))


def reciprocal(x: Array) -> Array:
    """Where a residue is 0 but the number is not, the residue is dead from here on."""
    y = _once(x)
    a = parts(y)
    zero = a.r == 0
    dead = a.dead
    if zero.any():
        dead = np.asarray(dead | np.where(is_zero(y), np.uint16(0), packed(zero)))
    found = built(Parts(field.inverse(a.r), 1 / a.s, dead, a.d, a.n), a.s, lost=_lost_below(y, 1 / a.s))
    return np.broadcast_to(found, x.shape)


def _once(x: Array) -> Array:
    """Of elements that are one by broadcasting, one."""
    return x[tuple(slice(0, 1 if step == 0 else None) for step in x.strides)]


def _lost_below(y: Array, quotient: Array, *operands: Array) -> Array | None:
    """The lost lanes of a quotient: beyond float64, or divided by what its shadow alone says is 0, or is not."""
    lanes = beyond(quotient, y["s"], *operands)
    zero = y["s"] == 0
    unsure = np.isfinite(y["s"]) & (zero != is_zero(y))
    if lanes is not None:
        unsure = unsure | (lanes & ~zero)
    return np.asarray(unsure) if unsure.any() else None


def divide(x: Array, y: Array) -> Array:
    """``x / y``, with IEEE's infinities and NaN where ``y`` is 0."""
    a, b = _both(x, y)
    result = multiply(x, reciprocal(y))
    shadow = a.s / b.s
    odd = ~(np.isfinite(a.s) & np.isfinite(b.s) & np.isfinite(shadow))
    result["s"] = shadow
    lost = _lost_below(y, shadow, x["s"])
    if lost is not None:
        result["dead"] |= np.where(lost, LOST, np.uint16(0))
    if odd.any():
        _set_plain(result, odd, np.where(np.isfinite(shadow), shadow, 0))
    return result


def packed(lanes: Array) -> Array:
    """A bit mask of bools of shape (SLOTS, ...)."""
    bits = _BITS.reshape((SLOTS,) + (1,) * (lanes.ndim - 1))
    return np.asarray(np.bitwise_or.reduce(np.where(lanes, bits, np.uint16(0)), axis=0))


def unpacked(mask: Array) -> Array:
    """The bools of a bit mask, of shape (SLOTS, ...)."""
    bits = _BITS.reshape((SLOTS,) + (1,) * mask.ndim)
    return np.asarray((mask[None] & bits) != 0)


def total(x: Array, axis: int) -> Array:
    """The sum along ``axis``; ``axis`` is not negative."""
    a = parts(x)
    d = a.d.sum(axis=axis)
    dead = np.bitwise_or.reduce(a.dead, axis=axis)
    n = np.maximum((a.n - a.d).max(axis=axis, initial=-np.inf) + d, 0)
    r = field.reduced(a.r.sum(axis=axis + 1, dtype=np.uint64))
    s = a.s.sum(axis=axis)
    return built(Parts(r, s, dead, n, d), lost=_lost_sums(s, a.s, axis))


def _lost_sums(sums: Array, terms: Array, axis: int) -> Array | None:
    """Of sums of ``terms`` along ``axis`` those beyond float64: NaN of numbers, or of infinities of one sign."""
    if np.isfinite(sums).all():
        return None
    infinite = np.isposinf(terms).any(axis=axis), np.isneginf(terms).any(axis=axis)
    none = ~np.isnan(terms).any(axis=axis) & ~(infinite[0] & infinite[1])
    wanted = np.where(infinite[0], np.inf, np.where(infinite[1], -np.inf, 0.0))
    return np.asarray(none & ~np.isfinite(sums) & (sums != wanted))


def running(x: Array, axis: int) -> Array:
    """The inclusive running sums along ``axis``, which is not negative."""
    a = parts(x)
    d = np.cumsum(a.d, axis=axis)
    dead = np.bitwise_or.accumulate(a.dead, axis=axis)
    n = np.maximum(np.maximum.accumulate(a.n - a.d, axis=axis) + d, 0)
    r = field.reduced(np.cumsum(a.r, axis=axis + 1, dtype=np.uint64))
    s = np.cumsum(a.s, axis=axis)
    finite = np.logical_and.accumulate(np.isfinite(a.s), axis=axis)
    return built(Parts(r, s, dead, n, d), lost=finite & ~np.isfinite(s))


def matmul(x: Array, y: Array) -> Array:
    """(..., m, k) times (..., k, n)."""
    a, b = parts(x), parts(y)
    shape = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
    s = np.matmul(a.s, b.s)
    row, column = (
        np.bitwise_or.reduce(a.dead, axis=-1)[..., None],
        np.bitwise_or.reduce(b.dead, axis=-2)[..., None, :],
    )
    d = a.d.sum(axis=-1)[..., None] + b.d.sum(axis=-2)[..., None, :]
    n = a.n.max(axis=-1, initial=0)[..., None] + b.n.max(axis=-2, initial=0)[..., None, :] + d
    r = field.matmul(_aligned(a.r, len(shape)), _aligned(b.r, len(shape)))
    dead = np.broadcast_to(row | column, shape)
    lost = None
    if not np.isfinite(s).all():
        rows, columns = np.isfinite(a.s).all(axis=-1, keepdims=True), np.isfinite(b.s).all(axis=-2, keepdims=True)
        finite = np.asarray(rows) & np.asarray(columns)
        lost = finite & ~np.isfinite(s)
    return built(Parts(r, s, dead, np.broadcast_to(n, shape), np.broadcast_to(d, shape)), lost=lost)


def _aligned(r: Array, ndim: int) -> Array:
    """Slots first, then as many axes as the result has."""
    return r.reshape((SLOTS,) + (1,) * (ndim + 1 - r.ndim) + r.shape[1:])


def _both(x: Array, y: Array) -> tuple[Parts, Parts]:
    """The parts of both, slots first, with axes that broadcast."""
    a, b = parts(x), parts(y)
    if x.ndim == y.ndim:
        return a, b
    ndim = max(x.ndim, y.ndim)
    aligned = (
        Parts(p.r.reshape((SLOTS,) + (1,) * (ndim + 1 - p.r.ndim) + p.r.shape[1:]), p.s, p.dead, p.n, p.d)
        for p in (a, b)
    )
    first, second = aligned
    return first, second


# ------------------------------------------------------------------------------------------ comparisons
def same(x: Array, y: Array) -> Array:
    """Whether the numbers are equal: their residues for one of the primes are, or both are the same infinity."""
    level = np.equal(x["r"], y["r"])
    equal = np.zeros(level.shape[:-1], np.bool_)
    for start in range(0, SLOTS, LANES):
        equal |= level[..., start : start + LANES].all(axis=-1)
    a, b = x["s"], y["s"]
    plain = np.isfinite(a) & np.isfinite(b)
    return np.asarray(np.where(plain, equal, a == b) & ~is_lost(x) & ~is_lost(y))


def is_zero(x: Array) -> Array:
    """Whether the residues for one of the primes are all 0."""
    zero = np.zeros(x.shape, np.bool_)
    for start in range(0, SLOTS, LANES):
        zero |= (x["r"][..., start : start + LANES] == 0).all(axis=-1)
    return np.asarray(zero & np.isfinite(x["s"]) & ~is_lost(x))


def order(x: Array, y: Array) -> Array:
    """-1, 0 or 1 as ``x`` is below, equal to or above ``y``, and 2 where one is NaN.

    :raises NearTie: two numbers differ, but not clearly so in float64, or one is lost.
    """
    a, b = np.broadcast_arrays(certain(x), certain(y))
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= CLOSE * np.maximum(np.abs(a), np.abs(b)) + CLOSEST
    equal = (a == b) & np.isinf(a)
    if close.any():
        equal |= same(x, y)
        if (close & ~equal & np.isfinite(a) & np.isfinite(b)).any():
            raise NearTie("two different numbers are compared that are as good as equal in float64")
    sign = np.where(equal, 0, np.where(a < b, -1, 1)).astype(np.int8)
    return np.asarray(np.where(np.isnan(a) | np.isnan(b), np.int8(2), sign))
