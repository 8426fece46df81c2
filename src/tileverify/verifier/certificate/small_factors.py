"""Products and quotients of a script made linear: a factor or divisor that is a small number is one case for each.

Sizes that a launch leaves open, tiles of a group, whole rows of a tile: what is multiplied in addresses is often a
small number, and a solver of products does not see it.  That a factor is one of the numbers from 0 to `LARGEST` is a
script of its own, so that nothing is taken for granted: where that script and the one of each number are
contradictions, so is the script that they are made of.

In the case of a number its factor is put by that number wherever a definition has it, and what numbers make is
computed.  Both leave the meaning of the script as it was, as the case asserts that the factor is the number: a factor
is made of terms that are defined before it, none of which can have it as a part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from ..obligations.smtlib import PRODUCT, QUOTIENT, number, tokens

LARGEST: Final = 16
"""Up to here each number is a case."""

Expression: TypeAlias = "str | tuple[Expression, ...]"
"""A name or numeral, or a head with what it is applied to."""

_DEFINITION: Final = re.compile(r"\(define-fun (\S+) \(\) (Int|Bool) (.*)\)", re.ASCII)


def factors(script: str) -> tuple[str, ...]:
    """Factors of products and divisors of quotients that are no numerals, in the order of the script."""
    found: dict[Expression, None] = {}
    for line in script.rstrip("\n").split("\n"):
        if defined := _DEFINITION.fullmatch(line):
            found.update(dict.fromkeys(_factors(_read(defined[3]))))
    return tuple(_text(each) for each in found)


def any_other(script: str, factor: str) -> str:
    """The script in which ``factor`` is none of the numbers that are cases."""
    return f"{script}(assert (not (and (<= 0 {factor}) (<= {factor} {LARGEST}))))\n"


def with_number(script: str, factor: str, value: int) -> str:
    """The script in which ``factor`` is ``value``."""
    known: dict[Expression, Expression] = {_read(factor): number(value)}
    lines = []
    for line in script.rstrip("\n").split("\n"):
        if defined := _DEFINITION.fullmatch(line):
            name, sort, text = defined.groups()
            put = _put(_read(text), known)
            if sort == "Int" and _value(put) is not None:
                known[name] = put
            line = f"(define-fun {name} () {sort} {_text(put)})"
        lines.append(line)
    return "\n".join(lines) + f"\n(assert (= {factor} {number(value)}))\n"


def _factors(expression: Expression) -> Iterator[Expression]:
    """From the inside out."""
    if isinstance(expression, str):
        return
    for part in expression:
        yield from _factors(part)
    operands = expression[1:] if expression[0] == PRODUCT else expression[2:] if expression[0] == QUOTIENT else ()
    if expression[0] == QUOTIENT or all(_value(each) is None for each in operands):
        yield from (each for each in operands if _value(each) is None)


# ------------------------------------------------------------------------------------------------ terms
def _read(text: str) -> Expression:
    found = tokens(text)
    open_: list[list[Expression]] = [[]]
    for token in found:
        if token == "(":
            open_.append([])
        elif token == ")":
            done = tuple(open_.pop())
            open_[-1].append(done)
        else:
            open_[-1].append(token)
    (expression,) = open_[0]
    return expression


def _text(expression: Expression) -> str:
    return expression if isinstance(expression, str) else f"({' '.join(map(_text, expression))})"


def _put(expression: Expression, known: Mapping[Expression, Expression]) -> Expression:
    """``known`` terms by what they are, and what only numbers make by its number."""
    if expression in known:
        return known[expression]
    if isinstance(expression, str):
        return expression
    put = tuple(_put(each, known) for each in expression)
    computed = _computed(put)
    return put if computed is None else _read(number(computed))


def _value(expression: Expression) -> int | None:
    """Of a numeral, which may be negative: ``(- 3)``."""
    if isinstance(expression, str):
        return int(expression) if expression.isdecimal() else None
    if len(expression) == 2 and expression[0] == "-" and isinstance(expression[1], str) and expression[1].isdecimal():
        return -int(expression[1])
    return None


def _computed(expression: tuple[Expression, ...]) -> int | None:
    """What a head makes of numbers, if nothing else is in it."""
    head, *operands = expression
    numbers = [value for each in operands if (value := _value(each)) is not None]
    if not numbers or len(numbers) < len(operands):
        return None
    if head == "+":
        return sum(numbers)
    if head == "-":
        return numbers[0] - sum(numbers[1:]) if len(numbers) > 1 else -numbers[0]
    return math.prod(numbers) if head in ("*", PRODUCT) else None
