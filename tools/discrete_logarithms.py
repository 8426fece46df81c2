"""Writes `small_primes.npy` of `tileverify.equality`: logarithms to base 2 of small primes, modulo large ones.

Of the first primes by small and large steps (Shanks); of the others from fractions: ``l * 2**k`` is ``a / b`` modulo p,
and for some k all prime factors of ``a`` and ``b`` are known.

    python -m tools.discrete_logarithms
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from tileverify.equality.field import FILE, LEVELS, MODULI, as_fraction, small_primes

FIRST = 64
TRIES = 256
"""Fractions at a time."""


def main() -> None:
    rows = np.zeros((LEVELS - 1, len(small_primes(0))), np.uint32)
    for number in range(LEVELS - 1):
        found = of_primes(number)
        rows[number, : len(found)] = found
    np.save(FILE, rows)


def of_primes(number: int) -> list[int]:
    """Modulo the prime of this number, of the primes up to its root."""
    modulus, order = MODULI[number], MODULI[number + 1]
    primes = small_primes(number).tolist()
    known = {prime: _by_steps(prime, modulus, order) for prime in primes if prime < FIRST}
    bound = 4 * FIRST
    while len(known) < len(primes):
        table = _of_integers(known, modulus)
        for prime in primes:
            if prime < bound and prime not in known:
                known[prime] = _by_fractions(prime, table, modulus, order)
        bound *= 4
    return [known[prime] for prime in primes]


def _by_steps(prime: int, modulus: int, order: int) -> int:
    width = isqrt(order) + 1
    small = {pow(2, place, modulus): place for place in range(width)}
    step, value = pow(2, -width, modulus), prime
    for large in range(width):
        for signed in (value, modulus - value):
            if signed in small:
                return (large * width + small[signed]) % order
        value = value * step % modulus
    raise AssertionError(f"{prime} has no logarithm")


def _by_fractions(prime: int, table: dict[int, int], modulus: int, order: int) -> int:
    start = 0
    while True:
        values = [(prime << place) % modulus for place in range(start, start + TRIES)]
        top, bottom, _ = as_fraction(np.array(values, np.uint64), modulus)
        for place, (a, b) in enumerate(zip(top.tolist(), bottom.tolist(), strict=True), start):
            if a in table and b in table:
                return (table[a] - table[b] - place) % order
        start += TRIES


def _of_integers(known: dict[int, int], modulus: int) -> dict[int, int]:
    """Of all integers up to the root that are products of known primes."""
    most, table = isqrt(modulus), {1: 0}
    for prime, value in known.items():
        for integer, held in list(table.items()):
            power = 1
            while (integer := integer * prime) <= most:
                table[integer] = held + value * power
                power += 1
    return table


if __name__ == "__main__":
    main()
