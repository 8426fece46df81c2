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
        order, below, residues = MODULI[number + 1], level(number + 1), a[level(number)]
        top, bottom, opposite = as_fraction(residues, MODULI[number])
        table, squares = of_integers(number)
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
def of_integers(number: int) -> tuple[Array, Array]:
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
