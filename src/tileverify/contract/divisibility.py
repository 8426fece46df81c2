"""What a launch spec implies about divisibility, by sound and incomplete rules.

``requires = ["K % 64 == 0"]`` says that 64 divides ``K``; then 64 divides ``K * N`` and 128 divides ``2 * K``.
Whatever the compiler is told as a divisibility fact comes from here, so the proof can show it again.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from math import gcd, lcm
from typing import Final

from ..system.errors import SpecError
from .expressions import free_names
from .launch import Apply, Expression, Name, Number

ADDRESS: Final = ".address"
"""``x.address`` is that of the first element of ``x``."""

LARGEST_ALIGNMENT: Final = 4096
"""In bytes: what the interpreter's arrays have, so that every launch that it replays keeps such facts."""


def alignments(facts: Iterable[Expression], arrays: Container[str]) -> dict[str, int]:
    """Those of ``arrays`` that facts say are aligned, and to how many bytes: ``x.address % 16 == 0``.

    Raises :class:`SpecError` for anything else that is said of an address, which no launch is chosen by.
    """
    found: dict[str, int] = {}
    for fact in _conjuncts(facts):
        spoken = sorted(
            name for name in free_names(fact) if name.endswith(ADDRESS) and name.removesuffix(ADDRESS) in arrays
        )
        if not spoken:
            continue
        match fact:
            case Apply("==", (Apply("%", (Name(name), Number(bytes_))), Number(0))) if _is_alignment(bytes_):
                array = name.removesuffix(ADDRESS)
                found[array] = max(bytes_, found.get(array, 1))
            case _:
                raise SpecError(
                    f"of an address only its alignment can be said, as in '{spoken[0]} % 16 == 0': "
                    f"a power of two up to {LARGEST_ALIGNMENT}"
                )
    return found


def _is_alignment(number: int) -> bool:
    return 1 <= number <= LARGEST_ALIGNMENT and number & (number - 1) == 0


def known_divisors(requires: Iterable[Expression]) -> dict[str, int]:
    """For each name the least common multiple of what the facts say divides it (0: the name is 0)."""
    divisors: dict[str, int] = {}
    for fact in _conjuncts(requires):
        implied = _name_and_divisor(fact)
        if implied is not None:
            name, divisor = implied
            divisors[name] = lcm(divisors.get(name, 1), divisor)
    return divisors


def _name_and_divisor(fact: Apply) -> tuple[str, int] | None:
    match fact:
        case Apply("==", (Apply("%", (Name(name), Number(modulus))), Number(0))) if modulus:
            return name, abs(modulus)
        case Apply("==", (Number(0), Apply("%", (Name(name), Number(modulus))))) if modulus:
            return name, abs(modulus)
        case Apply("==", (Name(name), Number(value))) | Apply("==", (Number(value), Name(name))):
            return name, abs(value)
    return None


def _conjuncts(facts: Iterable[Expression]) -> Iterable[Apply]:
    for fact in facts:
        if isinstance(fact, Apply) and fact.op == "and":
            yield from _conjuncts(fact.args)
        elif isinstance(fact, Apply):
            yield fact


def divisor_of(expression: Expression, divisors: Mapping[str, int]) -> int:
    """An integer that divides every value of the expression (0: the value is always 0; 1: nothing is known)."""
    match expression:
        case Number(value):
            return abs(value)
        case Name(name):
            return divisors.get(name, 1)
        case Apply("neg", (argument,)):
            return divisor_of(argument, divisors)
        case Apply("*", (left, right)):
            return divisor_of(left, divisors) * divisor_of(right, divisors)
        case Apply("+" | "-" | "min" | "max" | "%", args):
            # a % b is a - q * b, so a common divisor of a and b divides it too.
            return gcd(*(divisor_of(argument, divisors) for argument in args))
        case Apply("//" | "cdiv", (left, Number(by))) if by > 0 and divisor_of(left, divisors) % by == 0:
            return divisor_of(left, divisors) // by
        case Apply("**", (base, Number(exponent))) if exponent >= 1:
            return divisor_of(base, divisors)
    return 1
