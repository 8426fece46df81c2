"""What a device can count of an array, so that counts of all elements say that a fact holds of it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .form import Subject
from .formula import FactFormula, parse
from .kinds import meaning_of, subject_of
from .pairs import Different, Rising, shape_of
from .statements import NumberedFact


class Counted(enum.Enum):
    """Which elements are counted."""

    IN_RANGE = enum.auto()
    """Those in [low, high)."""
    NOT_FALLING = enum.auto()
    """Those that are no more than the element behind them, and the last one."""
    FIRST_IN_RANGE = enum.auto()
    """Those in [low, high) whose value was not met before."""


@dataclass(frozen=True, slots=True)
class Count:
    """``low`` and ``high``: the limits of what is counted, where it has such."""

    what: Counted
    low: int = 0
    high: int = 0


def counts(fact: NumberedFact, facts: Iterable[NumberedFact], count: int) -> list[Count]:
    """What a device counts in ``count`` elements, if ``facts``, this one among them, are asked; empty: it cannot tell.

    The fact holds if all elements are counted each time.
    """
    kind = meaning_of(fact)
    numbers = any(number is not None for number in fact.numbers.values())
    if fact.others or fact.unless or (numbers and not kind.bounded):
        return []
    ranges = [each for each in facts if subject_of(each) is Subject.LIMITS and each.array == fact.array]
    limits = [kind.limits(fact, count), *(meaning_of(each).limits(each, count) for each in ranges if not each.unless)]
    known = next((each for each in limits if each is not None), None)
    found = [each for clause in kind.clauses for each in _counts(clause, known, own=limits[0] is not None)]
    return found if len(found) == len(kind.clauses) else []


def _counts(clause: FactFormula, limits: tuple[int, int] | None, *, own: bool) -> Iterator[Count]:
    within = {parse("a[i]"), parse("low <= a[i] < high or a[i] in unless"), parse("0 <= a[i] < size(a)")}
    if len(clause.indices) == 1:
        if own and limits is not None and clause.conclusion in within:
            yield Count(Counted.IN_RANGE, *limits)
        return
    match shape_of(clause) if clause.indices else None:
        case Rising(value) if value in within:
            yield Count(Counted.NOT_FALLING)
        case Different(_, (key,), None) if key in within and limits is not None:
            yield Count(Counted.FIRST_IN_RANGE, *limits)
