"""cvc5, the second opinion: asked at once, and where it has no answer by remainders, then by small factors."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Final, TypeAlias

from ...system.errors import UsageError
from ..obligations.smtlib import PRODUCT, QUOTIENT, number, tokens
from .scripts import Script

LIMIT: Final = 2_000_000
"""cvc5's resource units for one script; seconds never decide."""


class Opinion(enum.Enum):
    CONTRADICTION = "unsat"
    MODEL = "sat"
    NONE = "unknown"


@dataclass(frozen=True, slots=True)
class SecondSolver:
    """Reads SMT-LIB scripts; ``limit`` holds for each of them."""

    limit: int = LIMIT

    def __post_init__(self) -> None:
        """Raises `UsageError` where cvc5 is not installed."""
        try:
            import cvc5  # noqa: F401
        except ImportError:
            raise UsageError(
                "recheck needs a second solver: install cvc5 with pip install 'tileverify[recheck]'"
            ) from None

    @property
    def version(self) -> str:
        import cvc5

        return f"cvc5 {cvc5.__version__}"

    def opinion(self, script: str, *, part: int = 1) -> Opinion:
        """Whether the assertions of ``script`` can hold together; ``part``: the limit is divided by so much."""
        import cvc5

        solver = cvc5.Solver(cvc5.TermManager())
        solver.setOption("rlimit-per", str(max(self.limit // part, 1)))
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "question")
        symbols = parser.getSymbolManager()
        while not (command := parser.nextCommand()).isNull():
            if answer := command.invoke(solver, symbols):
                raise AssertionError(f"cvc5 refuses a script: {answer}")
        result = solver.checkSat()
        if result.isUnsat():
            return Opinion.CONTRADICTION
        return Opinion.MODEL if result.isSat() else Opinion.NONE


# ------------------------------------------------------------------------------------------------------------- in cases
# A script that the second solver does not answer, asked case by case: by remainders, then by small factors.


PART: Final = 10
"""A first look, and each case, may take one of so many parts of the limit."""

_PATIENCE: Final = 12
"""Scripts without an answer before a search among factors ends."""


def contradicted_in_cases(script: Script, solver: SecondSolver) -> bool:
    """Whether every case of a split of ``script`` that leaves nothing out is a contradiction."""
    remainders = remainder_cases(script.text)
    if remainders and all(solver.opinion(each, part=PART) is Opinion.CONTRADICTION for each in remainders):
        return True
    return script.exact and _ByFactors(solver).contradicted(script.text)


@dataclass
class _ByFactors:
    solver: SecondSolver
    unanswered: int = 0

    def contradicted(self, script: str) -> bool:
        """By the first factor that is a small number: what else multiplies may be known only in its cases."""
        for factor in factors(script):
            if self._is_contradiction(any_other(script, factor)):
                return all(self._case(with_number(script, factor, value)) for value in range(LARGEST_FACTOR + 1))
            if self.unanswered >= _PATIENCE:
                return False
        return False

    def _case(self, script: str) -> bool:
        return self._is_contradiction(script) or (self.unanswered < _PATIENCE and self.contradicted(script))

    def _is_contradiction(self, script: str) -> bool:
        opinion = self.solver.opinion(script, part=PART)
        self.unanswered += opinion is Opinion.NONE
        return opinion is Opinion.CONTRADICTION


# ----------------------------------------------------------------------------------------------------------- remainders
# A script that a solver does not answer, split into cases that leave nothing out.
#
# Remainders by small numbers are what keeps a solver of linear integers from ending: each of their values is a question
# of its own.  SMT-LIB's ``mod`` by n > 0 has the values 0 to n - 1 and no other, so that no side question is left.


LARGEST_DIVISOR: Final = 8
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
            if divisor.isdecimal() and 1 < int(divisor) <= LARGEST_DIVISOR:
                yield " ".join(parts).replace("( ", "(").replace(" )", ")"), int(divisor)


def _closed(found: list[str], start: int) -> list[str]:
    """The tokens from the bracket at ``start`` to the one that closes it."""
    depth = 0
    for length, token in enumerate(islice(found, start, None), 1):
        depth += (token == "(") - (token == ")")
        if not depth:
            return found[start : start + length]
    return found[start:]


# -------------------------------------------------------------------------------------------------------- small factors
# Products and quotients of a script made linear: a factor or divisor that is a small number is one case for each.
#
# Sizes that a launch leaves open, tiles of a group, whole rows of a tile: what is multiplied in addresses is often a
# small number, and a solver of products does not see it.  That a factor is one of the numbers from 0 to
# `LARGEST_FACTOR` is a script of its own, so that nothing is taken for granted: where that script and the one of each
# number are contradictions, so is the script that they are made of.
#
# In the case of a number its factor is put by that number wherever a definition has it, and what numbers make is
# computed.  Both leave the meaning of the script as it was, as the case asserts that the factor is the number: a factor
# is made of terms that are defined before it, none of which can have it as a part.


LARGEST_FACTOR: Final = 16
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
    return f"{script}(assert (not (and (<= 0 {factor}) (<= {factor} {LARGEST_FACTOR}))))\n"


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
