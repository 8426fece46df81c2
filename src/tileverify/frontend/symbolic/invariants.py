"""Invariants of loop-carried integers that have no closed form: an interval, and a residue.

Both are inductive: they hold of the initial value, and if they hold of all carried values when an iteration begins,
they hold of what it hands on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import gcd, prod
from typing import TYPE_CHECKING, Final

from ...contract.terms import Function, Scope, Sort, Term, TermKind, postorder, transform, var
from ...contract.terms.sums import linear_parts, sub

if TYPE_CHECKING:
    from .recurrences import Recurrence

_ROUNDS: Final = 4


@dataclass(frozen=True, slots=True)
class Invariant:
    """``low <= v <= high`` and ``v = rest (mod modulus)``."""

    low: int | None = None
    high: int | None = None
    modulus: int = 1
    rest: int = 0

    def suffix(self, function: Function) -> str:
        """What tells a function with this invariant from one that may be anything of the type of ``function``."""
        parts = ""
        if (self.low, self.high) != (function.low, function.high):
            parts += f".{self.low}..{self.high}"
        if self.modulus != 1:
            parts += f".{self.rest}mod{self.modulus}"
        return parts


def invariants(waiting: Mapping[Term, Recurrence], resolve: Callable[[Term], Term]) -> dict[Function, Invariant]:
    """What is known of the values in ``waiting``; ``resolve`` puts in the closed forms of the others."""
    steps = {stand_in: resolve(item.next) for stand_in, item in waiting.items()}
    ranges = _ranges(waiting, steps)
    found = {}
    for stand_in, item in waiting.items():
        modulus, rest = (1, 0) if stand_in.sort is Sort.BOOL else _residue(stand_in, item.init, steps[stand_in])
        found[stand_in.function] = Invariant(*ranges[stand_in], modulus, rest)
    return found


# ------------------------------------------------------------------------------------------------ intervals
def _ranges(
    waiting: Mapping[Term, Recurrence], steps: Mapping[Term, Term]
) -> dict[Term, tuple[int | None, int | None]]:
    """Intervals that the initial values lie in and that no iteration leaves.

    Starting from the initial values, the intervals grow until they stand still; a side that keeps growing goes to
    the bound of its type.  The result is checked by one more iteration that must not change it.
    """
    limits = {stand_in: (stand_in.low, stand_in.high) for stand_in in waiting}
    ranges = {stand_in: (item.init.low, item.init.high) for stand_in, item in waiting.items()}
    for attempt in range(_ROUNDS):
        grown = _grown(ranges, steps, limits)
        if grown == ranges:
            return ranges
        if attempt >= 1:
            grown = {
                stand_in: (
                    ranges[stand_in][0] if low == ranges[stand_in][0] else limits[stand_in][0],
                    ranges[stand_in][1] if high == ranges[stand_in][1] else limits[stand_in][1],
                )
                for stand_in, (low, high) in grown.items()
            }
        ranges = grown
    return ranges if _grown(ranges, steps, limits) == ranges else limits


def _grown(
    ranges: Mapping[Term, tuple[int | None, int | None]],
    steps: Mapping[Term, Term],
    limits: Mapping[Term, tuple[int | None, int | None]],
) -> dict[Term, tuple[int | None, int | None]]:
    """The hull of ``ranges`` and of what one iteration makes of values in them; every value stays in its type."""
    within = {stand_in.function: ranges[stand_in] for stand_in in ranges if stand_in.sort is Sort.INT}

    def leaf(part: Term) -> Term | None:
        """A value of the range; each lane has its own."""
        if part.kind is not TermKind.APPLY or part.function not in within:
            return None
        return var(f"in {part.digest.hex()}", Scope.ITERATION, *within[part.function])

    memo: dict[Term, Term] = {}
    result = {}
    for stand_in, (low, high) in ranges.items():
        after = transform(steps[stand_in], leaf, memo)
        least, most = limits[stand_in]
        result[stand_in] = (_lower(low, after.low, least), _upper(high, after.high, most))
    return result


def _lower(a: int | None, b: int | None, limit: int | None) -> int | None:
    if a is None or b is None:
        return limit
    return min(a, b) if limit is None else max(min(a, b), limit)


def _upper(a: int | None, b: int | None, limit: int | None) -> int | None:
    if a is None or b is None:
        return limit
    return max(a, b) if limit is None else min(max(a, b), limit)


# ------------------------------------------------------------------------------------------------- residues
def _residue(stand_in: Term, init: Term, step: Term) -> tuple[int, int]:
    """(m, r) with ``v = r (mod m)`` in every iteration."""
    modulus = _stride(stand_in, init, step)
    if init.kind is not TermKind.CONST:
        modulus = gcd(modulus, content(init))
    if modulus <= 1:
        return 1, 0
    return modulus, init.value % modulus if init.kind is TermKind.CONST else 0


def _stride(stand_in: Term, init: Term, step: Term) -> int:
    """g with ``step = v (mod g)`` or ``step = init (mod g)``, so that v stays congruent to ``init``; 0: equal to it."""
    choices: set[Term] = set()  # what the step chooses between
    stack = [step]
    while stack:
        part = stack.pop()
        if part not in choices:
            choices.add(part)
            stack.extend(
                part.args[1:] if part.kind is TermKind.ITE else part.args if part.kind is TermKind.WRAP else ()
            )
    found: dict[Term, int] = {}
    for part in postorder(step):
        if part not in choices:
            continue
        if part is stand_in:
            found[part] = 0
        elif part.kind is TermKind.ITE:
            found[part] = gcd(*(found[side] for side in part.args[1:]))
        elif part.kind is TermKind.WRAP:
            found[part] = gcd(found[part.args[0]], 1 << part.payload)
        else:
            relative, absolute = content(sub(part, stand_in)), content(sub(part, init))
            found[part] = 0 if relative == 0 or absolute == 0 else max(relative, absolute)
    return found[step]


def content(term: Term) -> int:
    """A number that divides every value of ``term``; 0 if it is 0."""
    found: dict[Term, int] = {}
    for part in postorder(term):
        found[part] = _content(part, found) if part.sort is Sort.INT else 1
    return found[term]


def _content(term: Term, found: Mapping[Term, int]) -> int:
    match term.kind:
        case TermKind.CONST:
            return abs(term.value)
        case TermKind.SUM:
            constant, summands = linear_parts(term)
            return gcd(constant, *(c * found[part] for c, part in summands))
        case TermKind.PRODUCT:
            return prod(found[factor] for factor in term.args)
        case TermKind.ITE:
            return gcd(*(found[side] for side in term.args[1:]))
        case TermKind.WRAP:
            return gcd(found[term.args[0]], 1 << term.payload)
        case _:
            return 1
