"""The search for clauses that close a question: candidates in groups, and as few of them as will do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from ...contract import terms as t
from ...contract.terms import Term, TermKind

T = TypeVar("T")

Closes: TypeAlias = Callable[[Sequence[Term]], bool]


def search(
    groups: Iterable[Sequence[Term]],
    *,
    admitted: Callable[[Sequence[Term], Sequence[Term]], list[Term]],
    closes: Closes,
    accepted: Callable[[Sequence[Term]], bool],
    stop: Callable[[], bool],
    weaker: Callable[[Term], Iterable[Term]] = lambda clause: (),
) -> list[Term]:
    """The clauses of the first groups that close the question together, without those that it takes not.

    ``admitted(offered, group)``: those of a group that leave launches beside what is offered already.
    ``accepted``: whether a choice is an answer; one that is not is not offered again.  None if there is no answer.
    ``weaker``: what may be said in place of a clause, the weakest first.
    """
    offered: list[Term] = []
    for group in groups:
        fresh = admitted(offered, [term for term in group if term not in offered])
        offered += fresh
        while fresh and offered and not stop() and closes(offered):
            chosen = _weakened(fewest(offered, closes), closes, weaker)
            if accepted(chosen):
                return _joined(chosen)
            offered = [term for term in offered if term not in chosen]
        if stop():
            break
    return []


def _weakened(chosen: list[Term], closes: Closes, weaker: Callable[[Term], Iterable[Term]]) -> list[Term]:
    for place, clause in enumerate(chosen):
        others = [*chosen[:place], *chosen[place + 1 :]]
        chosen[place] = next((each for each in weaker(clause) if closes([*others, each])), clause)
    return chosen


def _joined(chosen: Sequence[Term]) -> list[Term]:
    """``a <= b`` and ``b <= a`` are one clause."""
    found: dict[Term, None] = {}
    for term in chosen:
        both = term.kind is TermKind.LE and t.le(term.args[1], term.args[0]) in chosen
        found[t.eq(*term.args) if both else term] = None
    return list(found)


def fewest(candidates: Sequence[T], closes: Callable[[Sequence[T]], bool]) -> list[T]:
    """A minimal set of candidates that ``closes``, given that all together do and none does not; earlier ones are
    preferred.

    Divide and conquer as in U. Junker, "QuickXplain", AAAI 2004.
    """
    return _needed([], False, candidates, closes)


def _needed(background: list[T], fresh: bool, rest: Sequence[T], closes: Callable[[Sequence[T]], bool]) -> list[T]:
    """Those of ``rest`` that it takes beside ``background``; ``fresh``: of which it is not known that it takes any."""
    if fresh and closes(background):
        return []
    if len(rest) == 1:
        return list(rest)
    half = len(rest) // 2
    first, second = rest[:half], rest[half:]
    needed = _needed([*background, *first], True, second, closes)
    return [*_needed([*background, *needed], bool(needed), first, closes), *needed]
