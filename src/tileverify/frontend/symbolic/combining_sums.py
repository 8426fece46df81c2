"""Reductions and scans whose body adds and multiplies alone, as that of a linear recurrence.

Each result is a polynomial in the lanes, and the laws of `combining` hold where they hold of polynomials: of integers
that wrap, too, and of floats but for rounding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from ..bytecode.model import Block, Op, Value
from .combining_choices import OtherBody

Polynomial: TypeAlias = Mapping[tuple[str, ...], Fraction]
"""The coefficient of each product of variables, in order; none of them is 0."""

_MOST_TERMS: Final = 200


def adds_by_laws(body: Block, identities: Sequence[int | float | Fraction], *, commutes: bool) -> bool:
    """Whether the laws hold of ``body``, without the second one if it is not asked.  Raises `OtherBody`."""
    a, b, c = (_variables(name, len(identities)) for name in "abc")
    e: list[Polynomial] = [{(): Fraction(each)} if each else {} for each in identities]
    ab = _results(body, a, b)
    if commutes and ab != _results(body, b, a):
        return False
    associative = _results(body, ab, c) == _results(body, a, _results(body, b, c))
    return associative and _results(body, e, a) == a == _results(body, a, e)


def _variables(name: str, count: int) -> list[Polynomial]:
    return [{(f"{name}{number}",): Fraction(1)} for number in range(count)]


def _results(body: Block, left: Sequence[Polynomial], right: Sequence[Polynomial]) -> list[Polynomial]:
    known: dict[Value, Polynomial] = {}
    for number, value in enumerate(body.arguments):
        known[value] = (right if number % 2 else left)[number // 2]
    try:
        for op in body.ops[:-1]:
            known[op.result] = _made(op, known)
        return [known[value] for value in body.terminator.group("args")]
    except KeyError:  # a value from elsewhere
        raise OtherBody from None


def _made(op: Op, known: Mapping[Value, Polynomial]) -> Polynomial:
    match op.declaration.algebra:
        case "sum":
            return _sum(known[op.value("lhs")], known[op.value("rhs")])
        case "difference":
            return _sum(known[op.value("lhs")], _negated(known[op.value("rhs")]))
        case "product":
            return _product(known[op.value("lhs")], known[op.value("rhs")])
        case "fused":
            return _sum(_product(known[op.value("lhs")], known[op.value("rhs")]), known[op.value("acc")])
        case "negation":
            return _negated(known[op.value("s")])
    raise OtherBody


def _sum(one: Polynomial, other: Polynomial) -> Polynomial:
    result = defaultdict(Fraction, one)
    for product, coefficient in other.items():
        result[product] += coefficient
    return {product: coefficient for product, coefficient in result.items() if coefficient}


def _negated(one: Polynomial) -> Polynomial:
    return {product: -coefficient for product, coefficient in one.items()}


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    if len(one) * len(other) > _MOST_TERMS:
        raise OtherBody
    result: Polynomial = {}
    for left, factor in one.items():
        result = _sum(result, {tuple(sorted(left + right)): factor * each for right, each in other.items()})
    return result
