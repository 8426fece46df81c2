"""Expressions of launch specs: their operators, and how they are printed and evaluated, and names put in.

Integers are mathematical; ``//`` and ``%`` round towards minus infinity, ``cdiv`` towards plus infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from . import terms as t
from .element_types import INT_BITS
from .launch import (
    Apply,
    Argument,
    Expression,
    LaunchSpec,
    Name,
    Number,
    SameArray,
    ScalarArgument,
    TupleArgument,
    strides_of,
)
from .terms import Term

# ------------------------------------------------------------------------------------------------------------ operators
# The operators of launch specs, each declared once: how it binds, its value, its term, and the Python of it.
#
# Three readings of one expression stand side by side, so that whoever adds an operator writes all of them.  They share
# no code: `value` is what `run`, replays and tests compute, `term` what is proved, `python` what a compiled guard asks.


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


# ---------------------------------------------------------------------------------------------------------- expressions


GRID_NAMES = ("grid.x", "grid.y", "grid.z")


def is_condition(expression: Expression) -> bool:
    """Whether the value is true or false rather than an integer."""
    return isinstance(expression, Apply) and (expression.op in COMPARISONS or expression.op in CONNECTIVES)


def flags(condition: Expression) -> Iterator[str]:
    """The names that stand as conditions: ``use_bias`` in ``not use_bias or N > 3``."""
    if isinstance(condition, Name):
        yield condition.name
    elif isinstance(condition, Apply) and condition.op in CONNECTIVES:
        for argument in condition.args:
            yield from flags(argument)


# --------------------------------------------------------------------------------------------- printing
_ATOM = CALL
_NEGATIVE = OPERATORS["neg"].binds


def _precedence(expression: Expression) -> int:
    if isinstance(expression, Number):
        return _NEGATIVE if expression.value < 0 else _ATOM
    return _ATOM if isinstance(expression, Name) else OPERATORS[expression.op].binds


def print_expression(expression: Expression | SameArray) -> str:
    """Canonical text with the fewest parentheses; parsing it gives an equal expression."""
    if isinstance(expression, SameArray):
        return f"{expression.first} is {expression.second}"
    if isinstance(expression, Number):
        return str(expression.value)
    if isinstance(expression, Name):
        return expression.name
    op, args = expression.op, expression.args
    own = _precedence(expression)

    def side(argument: Expression, least: int) -> str:
        text = print_expression(argument)
        return text if _precedence(argument) >= least else f"({text})"

    if op == "neg":
        return f"-{side(args[0], own)}"
    if op == "not":
        return f"not {side(args[0], own)}"
    if op in ("and", "or"):
        return f" {op} ".join(side(argument, own + 1) for argument in args)
    if op == "**":
        return f"{side(args[0], _ATOM)} ** {side(args[1], _NEGATIVE)}"
    if op in COMPARISONS:
        return f"{side(args[0], own + 1)} {op} {side(args[1], own + 1)}"
    if own < CALL:
        return f"{side(args[0], own)} {op} {side(args[1], own + 1)}"
    return f"{op}({', '.join(print_expression(argument) for argument in args)})"


def may_be_undefined(expression: Expression) -> bool:
    """Whether it divides, or takes a power: then it may have no value."""
    if not isinstance(expression, Apply):
        return False
    return expression.op == "**" or OPERATORS[expression.op].divides or any(map(may_be_undefined, expression.args))


# -------------------------------------------------------------------------------------------- evaluation
def evaluate(expression: Expression, environment: Mapping[str, int]) -> int:
    """The exact integer (0 or 1 for a condition; ``and`` and ``or`` stop early, as in Python).

    Raises :class:`Undefined` for division by zero and :class:`KeyError` for a name without a value.
    """
    if isinstance(expression, Number):
        return expression.value
    if isinstance(expression, Name):
        return environment[expression.name]
    op, args = expression.op, expression.args
    if op == "and":
        return int(all(evaluate(argument, environment) for argument in args))
    if op == "or":
        return int(any(evaluate(argument, environment) for argument in args))
    return OPERATORS[op].value(*(evaluate(argument, environment) for argument in args))


def constant_value(expression: Expression) -> int | None:
    """The value of an expression without names; ``None`` if it has names or is undefined."""
    try:
        return evaluate(expression, {})
    except (KeyError, Undefined):
        return None


def without_number(expression: Expression) -> tuple[Expression, int]:
    """A sum apart from the number that is added at its end, or taken away: ``N`` and 1 of ``N + 1``."""
    if isinstance(expression, Apply) and expression.op in ("+", "-") and isinstance(expression.args[1], Number):
        rest, more = without_number(expression.args[0])
        number = expression.args[1].value
        return rest, more + (number if expression.op == "+" else -number)
    return expression, 0


# --------------------------------------------------------------------------------------- free names, maps
def free_names(expression: Expression) -> frozenset[str]:
    """Every :class:`Name` in the expression, spelled as written."""
    return frozenset(_walk_names(expression))


def _walk_names(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Name):
        yield expression.name
    elif isinstance(expression, Apply):
        for argument in expression.args:
            yield from _walk_names(argument)


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """The expression with names replaced; names that ``values`` lacks stay."""
    if isinstance(expression, Name):
        return values.get(expression.name, expression)
    if isinstance(expression, Apply):
        return Apply(expression.op, tuple(substitute(argument, values) for argument in expression.args))
    return expression


# -------------------------------------------------------------------------------------------------------------- numbers
# The numbers of a launch by the names that facts and clauses have for them.


def numbers_of(launch: LaunchSpec) -> dict[str, int]:
    """``x.shape[0]``, ``x.strides[0]`` and integer scalars where the launch gives them as numbers."""
    found: dict[str, int | None] = {}
    for array in launch.arrays():
        found |= {f"{array.name}.shape[{d}]": constant_value(size) for d, size in enumerate(array.shape)}
        found |= {f"{array.name}.strides[{d}]": constant_value(step) for d, step in enumerate(strides_of(array))}
    found |= {s.name: None if s.value is None else constant_value(s.value) for s in scalars_of(launch)}
    return {name: number for name, number in found.items() if number is not None}


def scalars_of(launch: LaunchSpec) -> Iterator[ScalarArgument]:
    """The integer scalars of a launch, also in tuples."""
    stack: list[Argument] = list(reversed(launch.arguments))
    while stack:
        argument = stack.pop()
        if isinstance(argument, TupleArgument):
            stack.extend(reversed(argument.items))
        elif isinstance(argument, ScalarArgument) and argument.dtype in INT_BITS and argument.dtype != "bool":
            yield argument
