"""Every operator's three readings agree: its value, its term, and the Python that a guard runs."""

from __future__ import annotations

import random

import pytest

from tileverify.contract import terms as t
from tileverify.contract.expressions import ARITHMETIC, COMPARISONS, CONNECTIVES, OPERATORS, Undefined, joined, power
from tileverify.contract.terms.evaluate import evaluate

NUMBERS = (0, 1, -1, 2, -3, 7, 31, 64, -64, 2**31 - 1, -(2**31), 2**63 - 1, 2**63)
TRIALS = 400
UNARY = ("neg", "not")
AS_MANY_AS_WANTED = ("min", "max", "and", "or")


def operands(word: str, choose: random.Random) -> list[int]:
    many = 1 if word in UNARY else choose.randint(2, 4) if word in AS_MANY_AS_WANTED else 2
    if word in CONNECTIVES:
        return [choose.randint(0, 1) for _ in range(many)]
    return [choose.choice(NUMBERS) + choose.randint(-2, 2) for _ in range(many)]


def as_term(word: str, numbers: list[int]) -> int | None:
    """The value of the term over variables, so that no rule on constants stands in for the term."""
    sort = t.Sort.BOOL if word in CONNECTIVES else t.Sort.INT
    leaves = [t.var(f"v{place}", t.Scope.LAUNCH, sort=sort) for place in range(len(numbers))]
    try:
        return int(evaluate(joined(word, leaves), dict(zip(leaves, numbers, strict=True))))
    except ZeroDivisionError:
        return None


def as_python(word: str, numbers: list[int]) -> int | None:
    names = [f"v{place}" for place in range(len(numbers))]
    known = {"power": power, **dict(zip(names, numbers, strict=True))}
    try:
        return int(eval(OPERATORS[word].python(names), known))
    except (ZeroDivisionError, Undefined):
        return None


def as_value(word: str, numbers: list[int]) -> int | None:
    try:
        return OPERATORS[word].value(*numbers)
    except Undefined:
        return None


@pytest.mark.parametrize("word", sorted(OPERATORS))
def test_value_and_python_agree(word: str) -> None:
    choose = random.Random(word)
    for _ in range(TRIALS):
        numbers = operands(word, choose)
        assert as_value(word, numbers) == as_python(word, numbers), numbers


@pytest.mark.parametrize("word", sorted(set(OPERATORS) - {"**"}))
def test_value_and_term_agree(word: str) -> None:
    choose = random.Random(word)
    for _ in range(TRIALS):
        numbers = operands(word, choose)
        assert as_value(word, numbers) == as_term(word, numbers), numbers


@pytest.mark.parametrize("word", sorted(OPERATORS))
def test_only_what_divides_has_no_value_where_its_second_operand_is_zero(word: str) -> None:
    if word not in UNARY:
        assert (as_value(word, [1, 0]) is None) == OPERATORS[word].divides


def test_an_operator_is_one_of_three_kinds() -> None:
    assert len(OPERATORS) == len(ARITHMETIC) + len(COMPARISONS) + len(CONNECTIVES)
