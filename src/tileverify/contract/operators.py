"""The operators of launch specs, each declared once: how it binds, its value, its term, and the Python of it.

Three readings of one expression stand side by side, so that whoever adds an operator writes all of them.  They share
no code: `value` is what `run`, replays and tests compute, `term` what is proved, `python` what a compiled guard asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from . import terms as t
from .terms import Term

LARGEST_EXPONENT: Final = 64
"""Of ``**``; an exponent is a number, not negative."""
MOST_BITS: Final = 1 << 13
"""Of a number in an expression, where names count as numbers of 64 bits: nothing larger is computed."""


class Undefined(ArithmeticError):
    """Division by zero, or a power that is negative or absurdly large."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator.  Conditions have the values 0 and 1.

    ``binds``: how tightly it binds its operands when it is printed; calls bind like names.
    ``value``: of exact integers; raises `Undefined` where there is none.
    ``term``: of terms, two at a time where it takes more; ``None`` for a power, whose term depends on its exponent.
    ``python``: Python that computes the value, from Python of its operands.
    ``divides``: there is no value where the second operand is 0.
    """

    binds: int
    value: Callable[..., int]
    term: Callable[..., Term] | None
    python: Callable[[Sequence[str]], str]
    divides: bool = False


CALL: Final = 9


def power(base: int, exponent: int) -> int:
    """``base ** exponent``; raises :class:`Undefined` before anything is computed that is absurdly large."""
    if not 0 <= exponent <= LARGEST_EXPONENT:
        raise Undefined("an exponent is out of range")
    if base.bit_length() * exponent > MOST_BITS:
        raise Undefined("a power is too large")
    return int(base**exponent)


def _product(left: int, right: int) -> int:
    if left.bit_length() + right.bit_length() > MOST_BITS:
        raise Undefined("a product is too large")
    return left * right


def _floor_divide(left: int, right: int) -> int:
    if right == 0:
        raise Undefined("division by zero")
    return left // right


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise Undefined("remainder by zero")
    return left % right


def _infix(word: str) -> Callable[[Sequence[str]], str]:
    return lambda operands: "(" + f" {word} ".join(operands) + ")"


def _call(name: str) -> Callable[[Sequence[str]], str]:
    return lambda operands: f"{name}({', '.join(operands)})"


COMPARISONS: Final[Mapping[str, Operator]] = {
    "==": Operator(4, lambda a, b: int(a == b), t.eq, _infix("==")),
    "!=": Operator(4, lambda a, b: int(a != b), t.ne, _infix("!=")),
    "<": Operator(4, lambda a, b: int(a < b), t.lt, _infix("<")),
    "<=": Operator(4, lambda a, b: int(a <= b), t.le, _infix("<=")),
    ">": Operator(4, lambda a, b: int(a > b), lambda a, b: t.lt(b, a), _infix(">")),
    ">=": Operator(4, lambda a, b: int(a >= b), lambda a, b: t.le(b, a), _infix(">=")),
}
"""Of two integers."""

CONNECTIVES: Final[Mapping[str, Operator]] = {
    "or": Operator(1, lambda *each: int(any(each)), t.or_, _infix("or")),
    "and": Operator(2, lambda *each: int(all(each)), t.and_, _infix("and")),
    "not": Operator(3, lambda a: int(not a), t.not_, lambda operands: f"(not {operands[0]})"),
}
"""Of conditions; whoever evaluates ``and`` and ``or`` stops early, as Python does."""

ARITHMETIC: Final[Mapping[str, Operator]] = {
    "+": Operator(5, lambda a, b: a + b, t.add, _infix("+")),
    "-": Operator(5, lambda a, b: a - b, t.sub, _infix("-")),
    "*": Operator(6, _product, t.mul, _infix("*")),
    "//": Operator(6, _floor_divide, t.floordiv, _infix("//"), divides=True),
    "%": Operator(6, _remainder, t.floormod, _infix("%"), divides=True),
    "neg": Operator(7, lambda a: -a, t.neg, lambda operands: f"-({operands[0]})"),
    "**": Operator(8, power, None, _call("power")),
    "cdiv": Operator(
        CALL, lambda a, b: -_floor_divide(-a, b), t.ceildiv, lambda operands: "-(-({}) // ({}))".format(*operands),
        divides=True,
    ),
    "min": Operator(CALL, min, t.minimum, _call("min")),
    "max": Operator(CALL, max, t.maximum, _call("max")),
}  # fmt: skip
"""Of integers."""

OPERATORS: Final[Mapping[str, Operator]] = {**COMPARISONS, **CONNECTIVES, **ARITHMETIC}


def joined(word: str, terms: Sequence[Term]) -> Term:
    """The term of an operator that is no power; of three operands and more, from the left."""
    make = OPERATORS[word].term
    assert make is not None, word
    return make(*terms) if len(terms) < 3 else reduce(make, terms)
