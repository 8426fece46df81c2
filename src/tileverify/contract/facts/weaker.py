"""Which facts say no more than others, read off where the numbers stand in their formulas.

A bound that a conclusion asks for is weaker the wider it is, one in a premise the narrower; what a fact excuses makes
it weaker wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from ..launch import Apply, Expression, Name, Number
from ..terms import Term, linear_parts, sub
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

    Only numbers whose difference is a constant are compared: those of a launch of numbers, and ``N`` with ``N + 1``.
    """
    kept: list[DataTerm] = []
    for fact in facts:
        if not any(_says_no_more(fact, known) for known in kept):
            kept = [known for known in kept if not _says_no_more(known, fact)]
            kept.append(fact)
    return kept


def is_within(limits: DataTerm, other: DataTerm) -> bool:
    """Whether ``limits`` say of every value of an array that it lies between the bounds of the ``other`` fact on it."""
    alike = subject_of(limits) is Subject.LIMITS and limits.fact.arrays == other.fact.arrays and not limits.unless
    low, high = (_apart(outer, inner) for outer, inner in ((other.low, limits.low), (other.high, limits.high)))
    if not alike or low is None or high is None:
        return False
    return _is_weaker(*low, _DOWN, concluded=True) and _is_weaker(*high, _UP, concluded=True)


def _says_no_more(outer: DataTerm, inner: DataTerm) -> bool:
    alike = (outer.fact.kind, outer.fact.arrays) == (inner.fact.kind, inner.fact.arrays)
    if not alike or subject_of(outer) not in (Subject.LIMITS, Subject.COLUMN) or inner.unless:
        return False
    apart = {name: _apart(number, inner.numbers[name]) for name, number in outer.numbers.items()}
    if any(each is None for each in apart.values()):
        return False
    meaning = meaning_of(outer.fact)
    return all(_is_weaker(*(apart[name] or (None, None)), way, concluded) for name, way, concluded in _numbers(meaning))


def _apart(outer: Term | None, inner: Term | None) -> tuple[int | None, int | None] | None:
    """Integers that compare as the two numbers do; ``None`` where that depends on the launch."""
    if outer is None or inner is None:
        return None if outer is not inner else (None, None)
    constant, rest = linear_parts(sub(outer, inner))
    return None if rest else (constant, 0)
