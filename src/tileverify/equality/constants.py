"""Which real number a float constant stands for.

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
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, NoReturn

import numpy as np

from ..frontend.bytecode.model import ScalarType
from . import exact, field
from .exact import NUMBER
from .field import SLOTS, Array, Undecided, logarithm

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
        result[whole] = exact.of_integers(values[whole].astype(np.int64))
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
            dead = int(exact.packed(~squares))
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
