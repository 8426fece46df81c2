"""Residues: what a real number becomes modulo three primes at several random points at once.

The primes are a chain p = 2q + 1, q = 2r + 1.  A number has a residue for each of them, because ``2**a`` modulo p is a
function of ``a`` modulo q, and one modulo q of ``a`` modulo r: two powers may stand on top of each other before a law
of powers is lost.  All numbers whose prime factors are at most 13 are squares modulo all three.

Arrays here have shape (SLOTS, ...) and type uint64: for each prime in turn the residues at `LANES` points.
"""

from __future__ import annotations

from functools import cache
from math import isqrt
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..backend.interpreter.values import InterpreterStop

Array: TypeAlias = NDArray[Any]

MODULI: Final = (2118436319, 1059218159, 529609079)
LANES: Final = 3
LEVELS: Final = len(MODULI)
SLOTS: Final = LANES * LEVELS
SMALLEST: Final = MODULI[-1]

_INVERTED: Final = 8
"""So many numbers are inverted one by one in the time that two products of short arrays take."""
_WINDOW: Final = 16
_LIMB: Final = 11
_DEEPEST: Final = 1 << 10
"""Products of a limb (11 bits) and a residue (31 bits), so many of which add up exactly in f64."""


def level(number: int) -> slice:
    """The slots of one prime."""
    return slice(number * LANES, (number + 1) * LANES)


def reduced(values: Array) -> Array:
    """Each slot modulo its prime, in place."""
    return np.asarray(np.remainder(values, _moduli(values), out=values))


def of_integers(values: Array) -> Array:
    """The residues of integers of any sign (int64, uint64 or objects)."""
    return np.stack([np.asarray(values % m).astype(np.uint64) for m in MODULI for _ in range(LANES)])


def of_fraction(numerator: int, denominator: int) -> Array:
    """The residues of a rational number, shape (SLOTS,)."""
    return np.array([numerator * pow(denominator, -1, m) % m for m in MODULI for _ in range(LANES)], np.uint64)


def _moduli(values: Array) -> Array:
    return _MODULI.reshape((SLOTS,) + (1,) * (values.ndim - 1))


_MODULI: Final = np.repeat(np.array(MODULI, np.uint64), LANES)


def add(a: Array, b: Array) -> Array:
    total = a + b
    moduli = _moduli(total)
    return np.asarray(np.where(total >= moduli, total - moduli, total))


def negated(a: Array) -> Array:
    return np.asarray(np.where(a == 0, a, _moduli(a) - a))


def multiply(a: Array, b: Array) -> Array:
    return reduced(np.asarray(a * b))


def matmul(a: Array, b: Array) -> Array:
    """(SLOTS, ..., m, k) times (SLOTS, ..., k, n), by exact products of floats."""
    total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), np.uint64)
    for start in range(0, a.shape[-1], _DEEPEST):
        left, right = a[..., start : start + _DEEPEST], b[..., start : start + _DEEPEST, :].astype(np.float64)
        part = np.zeros_like(total)
        for shift in (2 * _LIMB, _LIMB, 0):
            limb = ((left >> np.uint64(shift)) & np.uint64((1 << _LIMB) - 1)).astype(np.float64)
            part = reduced((part << np.uint64(_LIMB)) + np.matmul(limb, right).astype(np.uint64))
        total = add(total, part)
    return total


def power(a: Array, exponents: tuple[int, ...]) -> Array:
    """``a`` to a power of its own for each prime."""
    result = np.ones_like(a)
    for number, exponent in enumerate(exponents):
        base, modulus = a[level(number)], np.uint64(MODULI[number])
        found = np.ones_like(base)
        while exponent:
            if exponent & 1:
                found = found * base % modulus
            base = base * base
            base -= base // modulus * modulus
            exponent >>= 1
        result[level(number)] = found
    return result


def inverse(a: Array) -> Array:
    """The inverse of each residue; of 0 it is 0.  Products of ever more pairs, of which a few are inverted."""
    zero = a == 0
    flat = np.where(zero, np.uint64(1), a).reshape(SLOTS, -1)
    layers = [flat]
    while layers[-1].shape[1] > _INVERTED:
        last = layers[-1]
        half = last.shape[1] // 2
        product = multiply(last[:, :half], last[:, half : 2 * half])
        layers.append(np.concatenate([product, last[:, 2 * half :]], axis=1))
    last_ones = zip(layers[-1].tolist(), map(int, _MODULI), strict=True)
    found = np.array([[pow(number, -1, modulus) for number in row] for row, modulus in last_ones], np.uint64)
    for last in reversed(layers[:-1]):
        half = last.shape[1] // 2
        up = found[:, :half]
        found = np.concatenate(
            [multiply(up, last[:, half : 2 * half]), multiply(up, last[:, :half]), found[:, half:]], axis=1
        )
    return np.where(zero, np.uint64(0), found.reshape(a.shape))


def root(a: Array) -> tuple[Array, Array]:
    """A square root that is multiplicative, and where there is one (elsewhere its square is ``-a``)."""
    found = power(a, tuple((modulus + 1) // 4 for modulus in MODULI))
    return found, multiply(found, found) == a


def _powers_of_two(modulus: int) -> tuple[Array, Array]:
    return _powers(2, modulus), _powers(pow(2, 1 << _WINDOW, modulus), modulus)


def _powers(base: int, modulus: int) -> Array:
    """Those whose exponents fit a window."""
    found = np.ones(1, np.uint64)
    for place in range(_WINDOW):
        found = np.concatenate([found, found * np.uint64(pow(base, 1 << place, modulus)) % np.uint64(modulus)])
    return found


_tables: list[tuple[Array, Array]] = []


def exponential(a: Array) -> Array:
    """``2**a``: modulo each prime but the last, a power whose exponent is the next prime's residue; modulo that, a
    function without laws of the residue of the power."""
    if not _tables:
        _tables.extend(_powers_of_two(modulus) for modulus in MODULI[:-1])
    result = np.empty_like(a)
    for number, (low, high) in enumerate(_tables):
        exponent = a[level(number + 1)]
        factors = low[exponent & np.uint64((1 << _WINDOW) - 1)], high[exponent >> np.uint64(_WINDOW)]
        result[level(number)] = factors[0] * factors[1] % np.uint64(MODULI[number])
    result[level(LEVELS - 1)] = scrambled(result[level(0)], 1) % np.uint64(SMALLEST)
    return result


def keyed(a: Array, key: int) -> Array:
    """A function without laws, one for each key, of each residue."""
    return reduced(scrambled(a, key))


def scrambled(a: Array, key: int) -> Array:
    """64 bits that depend on all bits of ``a`` and of ``key`` (the finisher of splitmix64)."""
    mixed = a + np.uint64(key * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


# ----------------------------------------------------------------------------------------------------------- logarithms
# Logarithms to base 2 of residues: modulo each prime but the last, a function into the residues of the next one.
#
# The squares modulo p = 2q + 1 are the powers of 2, of which there are q; a number or its opposite is one of them.  So
# ``L(x)``, the exponent modulo q of which the power is ``x`` or ``-x``, takes products to sums and inverts
# `field.exponential`.
#
# It is found by a fraction: every residue is ``a / b`` with ``a`` and ``b`` below the root of p (Thue), up to its sign.
# The logarithms of the integers below that are sums of those of primes, which `small_primes.npy` holds, written by
# ``python -m tools.discrete_logarithms`` and all of them tried by a test.


FILE: Final = Path(__file__).with_name("small_primes.npy")


def logarithm(a: Array) -> tuple[Array, Array]:
    """``L`` of residues (SLOTS, ...), each in the slot of the next prime, and where the operand is a power of 2.

    The slots of the first prime are left at 0.
    """
    found, powers = np.zeros_like(a), np.zeros(a.shape, np.bool_)
    for number in range(LEVELS - 1):
        order, below, residues = MODULI[number + 1], level(number + 1), a[level(number)]
        top, bottom, opposite = as_fraction(residues, MODULI[number])
        table, squares = tabulated_logarithms(number)
        found[below] = (table[top] + np.uint64(order) - table[bottom]) % np.uint64(order)
        powers[below] = (squares[top] ^ squares[bottom] ^ opposite ^ True) & (residues != 0)  # -1 is no square
    return found, powers


def as_fraction(residues: Array, modulus: int) -> tuple[Array, Array, Array]:
    """(a, b, opposite) with ``a = b * x`` or, of the opposite, ``a = -b * x``, both below the root of the prime.

    Euclid's algorithm, stopped halfway.  Of 0 it is what it is of 1.
    """
    bound = isqrt(modulus) + 1
    flat = np.where(residues == 0, 1, residues).reshape(-1).astype(np.int64)
    high, low = np.full_like(flat, modulus), flat
    before, factor = np.zeros_like(flat), np.ones_like(flat)
    while (going := low >= bound).any():
        quotient = high // low
        high, low = np.where(going, low, high), np.where(going, high - quotient * low, low)
        before, factor = np.where(going, factor, before), np.where(going, before - quotient * factor, factor)
    shape = residues.shape
    return low.reshape(shape), np.abs(factor).reshape(shape), (factor < 0).reshape(shape)


@cache
def tabulated_logarithms(number: int) -> tuple[Array, Array]:
    """``L`` modulo the prime of this number, of every integer up to its root, and which of them are squares; of 0 it is
    what it is of 1."""
    modulus, order = MODULI[number], MODULI[number + 1]
    table = np.zeros(isqrt(modulus) + 1, np.uint64)
    squares = np.ones(table.shape, np.bool_)
    primes = small_primes(number)
    values = np.load(FILE)[number][: len(primes)].tolist()
    for prime, value in zip(primes.tolist(), values, strict=True):
        opposite, power = pow(2, value, modulus) != prime, prime
        while power < len(table):
            table[power::power] += np.uint64(value)
            squares[power::power] ^= opposite
            power *= prime
    return np.asarray(table % np.uint64(order)), squares


def small_primes(number: int) -> Array:
    """The primes up to the root of that modulus."""
    sieve = np.ones(isqrt(MODULI[number]) + 1, np.bool_)
    sieve[:2] = False
    for each in range(2, isqrt(len(sieve)) + 1):
        if sieve[each]:
            sieve[each * each :: each] = False
    return np.flatnonzero(sieve)


# ------------------------------------------------------------------------------------------------------------ undecided
# Why an attempt to compare exactly ends without an answer.


class Undecided(InterpreterStop):
    """Something that exact numbers have no rule for; the text names it."""


class NearTie(Undecided):
    """Two different numbers are too close in float64 for a comparison to be believed; another point may do."""


class ShadowLost(NearTie):
    """A number went beyond float64 on the way, so what float64 says of it decides nothing; another point may do."""

    def __init__(self) -> None:
        super().__init__("a number is beyond float64, or on one side of 0 by its rounding alone")
