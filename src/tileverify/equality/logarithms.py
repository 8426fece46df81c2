"""Logarithms to base 2 of residues: modulo each prime but the last, a function into the residues of the next one.

The squares modulo p = 2q + 1 are the powers of 2, of which there are q; a number or its opposite is one of them.  So
``L(x)``, the exponent modulo q of which the power is ``x`` or ``-x``, takes products to sums and inverts
`field.exponential`.

It is found by a fraction: every residue is ``a / b`` with ``a`` and ``b`` below the root of p (Thue), up to its sign.
The logarithms of the integers below that are sums of those of primes, which `small_primes.npy` holds, written by
``python -m tools.discrete_logarithms`` and all of them tried by a test.
"""

from __future__ import annotations

from functools import cache
from math import isqrt
from pathlib import Path
from typing import Final

import numpy as np

from .field import LEVELS, MODULI, Array, level

FILE: Final = Path(__file__).with_name("small_primes.npy")


def logarithm(a: Array) -> tuple[Array, Array]:
    """``L`` of residues (SLOTS, ...), each in the slot of the next prime, and where the operand is a power of 2.

    The slots of the first prime are left at 0.
    """
    found, powers = np.zeros_like(a), np.zeros(a.shape, np.bool_)
    for number in range(LEVELS - 1):
        modulus, order, below = MODULI[number], MODULI[number + 1], level(number + 1)
        top, bottom = as_fraction(a[level(number)], modulus)
        table = logarithms_of_integers(number)
        found[below] = (table[top] + np.uint64(order) - table[bottom]) % np.uint64(order)
        powers[below] = is_square(a[level(number)], modulus)
    return found, powers


def as_fraction(residues: Array, modulus: int) -> tuple[Array, Array]:
    """(a, b) below the root of the prime with ``a = b * x`` or ``a = -b * x``: Euclid's algorithm, stopped halfway.
    Of 0 it is (1, 1)."""
    bound = isqrt(modulus) + 1
    flat = np.where(residues == 0, 1, residues).reshape(-1).astype(np.int64)
    high, low = np.full_like(flat, modulus), flat
    before, factor = np.zeros_like(flat), np.ones_like(flat)
    while (going := low >= bound).any():
        quotient = high // low
        high, low = np.where(going, low, high), np.where(going, high - quotient * low, low)
        before, factor = np.where(going, factor, before), np.where(going, before - quotient * factor, factor)
    return low.reshape(residues.shape), np.abs(factor).reshape(residues.shape)


def is_square(residues: Array, modulus: int) -> Array:
    """Euler's criterion."""
    result, base, exponent = np.ones_like(residues), residues, (modulus - 1) // 2
    while exponent:
        if exponent & 1:
            result = result * base % np.uint64(modulus)
        base = base * base % np.uint64(modulus)
        exponent >>= 1
    return np.asarray(result == 1)


@cache
def logarithms_of_integers(number: int) -> Array:
    """``L`` modulo the prime of this number, of every integer up to its root; of 0 it is 0."""
    table = np.zeros(isqrt(MODULI[number]) + 1, np.uint64)
    primes = small_primes(number)
    for prime, value in zip(primes.tolist(), np.load(FILE)[number][: len(primes)].astype(np.uint64), strict=True):
        power = prime
        while power < len(table):
            table[power::power] += value
            power *= prime
    return np.asarray(table % np.uint64(MODULI[number + 1]))


def small_primes(number: int) -> Array:
    """The primes up to the root of that modulus."""
    sieve = np.ones(isqrt(MODULI[number]) + 1, np.bool_)
    sieve[:2] = False
    for each in range(2, isqrt(len(sieve)) + 1):
        if sieve[each]:
            sieve[each * each :: each] = False
    return np.flatnonzero(sieve)
