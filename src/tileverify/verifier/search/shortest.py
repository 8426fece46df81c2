"""The shortest way to say clauses that people are advised to write, in the names of their contract.

    H <= 4 * (H // 4)                                     H % 4 == 0
    cdiv(M, 32) <= cdiv(N, 32) and the other way round    cdiv(M, 32) == cdiv(N, 32)
    L >= 64 or P == 0                                     L >= 64          where limits say that P is at least 1

What is said in place of a clause implies it in every launch of the contract, and follows from it in every launch in
which no array is empty.  Candidates are usual relations of what the clause speaks of; a few launches of numbers rule
out most of them, and the solver has to confirm the one that is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from random import Random
from typing import Final

from ...contract import terms as t
from ...contract.terms import Sort, Term, TermKind
from ...contract.terms.evaluate import evaluate
from ...contract.wording import can_be_said, clause_text
from .clauses import Clause
from .plain import Implies

MOST_NAMES: Final = 4
MOST_VALUES: Final = 12
"""A clause that speaks of more is left as it is."""
MOST_ASKED: Final = 8
"""Candidates for one clause that the solver is asked about."""

_LAUNCHES: Final = 200
_NUMBERS: Final = (-64, -1, *range(9), 12, 16, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 1000, 1024)
"""For sizes in launches that are tried without the solver."""


def shortest(
    clauses: Sequence[Clause], implies: Implies, filled: Sequence[Term] = (), facts: Iterable[Term] = ()
) -> list[Clause]:
    """The clauses, each or two of them in fewer characters where that can be.

    ``implies``: under the contract; ``filled``: that no array is empty; ``facts`` of the contract, by which launches of
    numbers are chosen.
    """
    known = tuple(facts)
    found = [_shorter([clause], implies, filled, known) or clause for clause in clauses]
    for first, second in combinations(found, 2):
        if not first.condition.free & second.condition.free:
            continue
        one = _shorter([first, second], implies, filled, known)
        if one is not None:
            rest = [one if clause is first else clause for clause in found if clause is not second]
            return shortest(rest, implies, filled, known)
    return found


def _shorter(
    clauses: Sequence[Clause], implies: Implies, filled: Sequence[Term], facts: Sequence[Term]
) -> Clause | None:
    """One clause that says the same as all of these, in fewer characters."""
    meant = t.and_(*(clause.condition for clause in clauses))
    if len(meant.free) > MOST_NAMES or not can_be_said(meant):
        return None
    length = len(" and ".join(clause.text for clause in clauses))
    said = {term: clause_text(term) for term in dict.fromkeys(_candidates(meant))}
    shorter = [Clause(term, text) for term, text in said.items() if text is not None and len(text) < length]
    launches = list(_launches(meant, filled, facts))
    likely = [each for each in shorter if all(_value(each.condition, n) == kept for n, kept in launches)]
    for each in sorted(likely, key=lambda clause: (len(clause.text), clause.text))[:MOST_ASKED]:
        if implies([each.condition], meant) and implies([*filled, meant], each.condition):
            return each
    return None


def _candidates(meant: Term) -> Iterator[Term]:
    parts = list(t.postorder(meant))
    names = [part for part in parts if part.kind is TermKind.VAR and part.sort is Sort.INT]
    numbers = sorted({abs(part.value) for part in parts if part.kind is TermKind.CONST and part.sort is Sort.INT})
    values = [part for part in parts if part.sort is Sort.INT and part.kind is not TermKind.CONST]
    yield from (part for part in parts if part.sort is Sort.BOOL and part.free and part is not meant)
    for name in names:
        yield from (t.eq(t.floormod(name, t.const(number)), t.ZERO) for number in numbers if number > 1)
        for near in sorted({near for number in (0, *numbers) for near in (number - 1, number, number + 1)}):
            bound = t.const(near)
            yield from (t.eq(name, bound), t.le(name, bound), t.le(bound, name))
    for a, b in permutations(values[:MOST_VALUES] if len(values) <= MOST_VALUES else (), 2):
        yield from (t.eq(a, b), t.le(a, b), t.lt(a, b))


def _launches(meant: Term, filled: Sequence[Term], facts: Sequence[Term]) -> Iterator[tuple[dict[Term, int], bool]]:
    """Numbers for what the clause speaks of that the contract allows, and whether they satisfy it."""
    names = sorted(meant.free, key=t.render)
    spoken_of = [fact for fact in (*facts, *filled) if fact.free <= meant.free]
    drawn = Random(0)
    near = sorted({*_NUMBERS, *(part.value + d for part in t.postorder(meant) if _is_number(part) for d in (-1, 0, 1))})
    for _ in range(_LAUNCHES):
        launch = {name: drawn.choice([n for n in near if _allows(name, n)] or [name.low or 0]) for name in names}
        kept = _value(meant, launch)
        if kept is not None and all(_value(fact, launch) is not False for fact in spoken_of):
            yield launch, kept


def _is_number(part: Term) -> bool:
    return part.kind is TermKind.CONST and part.sort is Sort.INT


def _allows(name: Term, number: int) -> bool:
    return (name.low is None or name.low <= number) and (name.high is None or number <= name.high)


def _value(condition: Term, launch: dict[Term, int]) -> bool | None:
    """``None`` where the condition has none."""
    try:
        return bool(evaluate(condition, launch))
    except (KeyError, ZeroDivisionError):
        return None
