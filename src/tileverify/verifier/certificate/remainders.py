"""A script that a solver does not answer, split into cases that leave nothing out.

Remainders by small numbers are what keeps a solver of linear integers from ending: each of their values is a question
of its own.  SMT-LIB's ``mod`` by n > 0 has the values 0 to n - 1 and no other, so that no side question is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Final

from ..obligations.smtlib import tokens

LARGEST: Final = 8
"""Numbers up to which each remainder is a case."""
MOST: Final = 16
"""Cases of one script."""


def remainder_cases(script: str) -> tuple[str, ...]:
    """Scripts that are contradictions only if ``script`` is one, all together; none where nothing can be split."""
    chosen: list[list[str]] = []
    count = 1
    for term, divisor in sorted(dict.fromkeys(_remainders(script)), key=lambda each: each[1]):
        if count * divisor <= MOST:
            chosen.append([f"(assert (= {term} {value}))\n" for value in range(divisor)])
            count *= divisor
    return tuple(script + "".join(asserted) for asserted in product(*chosen)) if chosen else ()


def _remainders(script: str) -> Iterator[tuple[str, int]]:
    """The terms ``(mod x n)`` with a small numeral n, and n; terms of the script's definitions and assertions are
    closed, so that each means the same at its end."""
    found = tokens(script)
    for start, token in enumerate(found):
        if token == "mod" and found[start - 1] == "(":
            parts = _closed(found, start - 1)
            divisor = parts[-2]
            if divisor.isdecimal() and 1 < int(divisor) <= LARGEST:
                yield " ".join(parts).replace("( ", "(").replace(" )", ")"), int(divisor)


def _closed(found: list[str], start: int) -> list[str]:
    """The tokens from the bracket at ``start`` to the one that closes it."""
    depth = 0
    for length, token in enumerate(islice(found, start, None), 1):
        depth += (token == "(") - (token == ")")
        if not depth:
            return found[start : start + length]
    return found[start:]
