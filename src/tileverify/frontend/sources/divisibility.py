"""What a launch spec implies about divisibility, by sound and incomplete rules.

``requires = ["K % 64 == 0"]`` says that 64 divides ``K``; then 64 divides ``K * N`` and 128 divides ``2 * K``.
Whatever the compiler is told as a divisibility fact comes from here, so the proof can show it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, lcm

from .launch import Apply, Expression, Name, Number


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
