"""Which facts say no more than others, read off where the numbers stand in their formulas.

A bound that a conclusion asks for is weaker the wider it is, one in a premise the narrower; what a fact excuses makes
it weaker wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from ..launch import Apply, Expression, Name, Number
from ..terms import TermKind
from .form import Subject
from .formula import COMPARED, names_in
from .kind import FactKind
from .kinds import meaning_of, subject_of
from .statements import DataTerm, NumberedFact

_ALIKE: Final = "alike"
_DIVIDES: Final = "divides"
_UP: Final = "up"
_DOWN: Final = "down"


def follows(wanted: NumberedFact, seen: NumberedFact) -> bool:
    """Whether ``wanted`` says no more than ``seen``, on the same arrays."""
    kind = meaning_of(wanted)
    if seen.kind not in (kind.word, *kind.stronger) or not seen.unless <= wanted.unless:
        return False
    return all(
        _is_weaker(wanted.numbers[name], seen.numbers[name], way, concluded) for name, way, concluded in _numbers(kind)
    )


def _is_weaker(wanted: int | None, seen: int | None, way: str, concluded: bool) -> bool:
    """A comparison with a number that is left out holds: nothing is asked by it, or everything is spoken of."""
    if wanted is None or seen is None:
        return wanted is seen or (way in (_UP, _DOWN) and (wanted if concluded else seen) is None)
    match way:
        case "up":
            return seen <= wanted
        case "down":
            return wanted <= seen
        case "divides":
            return wanted > 0 and seen % wanted == 0
    return wanted == seen


@cache
def _numbers(kind: FactKind) -> frozenset[tuple[str, str, bool]]:
    """The numbers of its facts: in which direction they make a fact weaker, and whether it is in a conclusion."""
    found: set[tuple[str, str, bool]] = set()
    for clause in kind.clauses:
        found.update(_directions(clause.conclusion, True))
        found.update(_directions(clause.premise, False))
    return frozenset(each for each in found if each[0] in ("low", "high", "n", "width"))


def _directions(part: Expression, concluded: bool) -> Iterator[tuple[str, str, bool]]:
    match part:
        case Apply("and" | "or", args):
            for arg in args:
                yield from _directions(arg, concluded)
        case Apply("not", (arg,)):
            yield from _directions(arg, not concluded)
        case Apply("in", _):
            return
        case Apply("==", (Apply("%", (value, Name(name))), Number(0))) if concluded and name not in names_in(value):
            yield name, _DIVIDES, concluded
        case Apply(op, (left, right)) if op in COMPARED:
            for side, larger in ((left, False), (right, True)):
                way = _UP if larger is concluded else _DOWN
                if isinstance(side, Name) and op in ("<", "<="):
                    yield side.name, way, concluded
                else:
                    yield from ((name, _ALIKE, concluded) for name in names_in(side))


def strongest(facts: Iterable[DataTerm]) -> list[DataTerm]:
    """``facts`` without those limits that another fact of the same kind and array implies: of equal ones, the first is
    left.

    Only numbers are compared, as those of a launch of numbers are.
    """
    kept: list[DataTerm] = []
    for fact in facts:
        if not any(_says_no_more(fact, known) for known in kept):
            kept = [known for known in kept if not _says_no_more(known, fact)]
            kept.append(fact)
    return kept


def _says_no_more(outer: DataTerm, inner: DataTerm) -> bool:
    alike = (outer.fact.kind, outer.fact.arrays) == (inner.fact.kind, inner.fact.arrays)
    if not alike or subject_of(outer) is not Subject.LIMITS or inner.unless:
        return False
    numbers = [number for each in (outer, inner) for number in each.numbers.values() if number is not None]
    if any(number.kind is not TermKind.CONST for number in numbers):
        return False
    wanted, seen = (
        NumberedFact.of(DataTerm(each.fact, each.low, each.high, each.amount, (), each.width), lambda term: term.value)
        for each in (outer, inner)
    )
    return follows(wanted, seen)
