"""The search for clauses that close a question: candidates in groups, and as few of them as will do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.terms import Kind, Term
from .smt import Answer

Asks: TypeAlias = Callable[[Sequence[Term]], Answer]
"""Whether the question can hold under some clauses; they close it if it cannot."""


def search(
    groups: Iterable[Sequence[Term]],
    *,
    admitted: Callable[[Sequence[Term], Sequence[Term]], list[Term]],
    asks: Asks,
    accepted: Callable[[Sequence[Term]], bool],
    stop: Callable[[], bool],
    weaker: Callable[[Term], Iterable[Term]] = lambda clause: (),
) -> list[Term]:
    """The clauses of the first groups that close the question together, without those that it takes not.

    ``admitted(offered, group)``: those of a group that leave launches beside what is offered already.
    ``accepted``: whether a choice is an answer; one that is not is not offered again.  None if there is no answer.
    ``weaker``: what may be said in place of a clause, the weakest first.
    """

    def closes(clauses: Sequence[Term]) -> bool:
        return asks(clauses) is Answer.UNSATISFIABLE

    offered: list[Term] = []
    for group in groups:
        fresh = admitted(offered, [term for term in group if term not in offered])
        offered += fresh
        while fresh and not stop() and (closing := _closing(offered, fresh, asks)):
            chosen = _weakened(fewest(closing, closes), closes, weaker)
            if accepted(chosen):
                return _joined(chosen)
            offered, fresh = ([term for term in terms if term not in chosen] for terms in (offered, fresh))
        if stop():
            break
    return []


def _closing(offered: Sequence[Term], fresh: Sequence[Term], asks: Asks) -> Sequence[Term]:
    """What closes the question: all that is offered, or the new ones where all are too many for the solver."""
    answer = asks(offered)
    if answer is Answer.UNKNOWN and len(fresh) < len(offered):
        return fresh if asks(fresh) is Answer.UNSATISFIABLE else ()
    return offered if answer is Answer.UNSATISFIABLE else ()


def _weakened(
    chosen: list[Term], closes: Callable[[Sequence[Term]], bool], weaker: Callable[[Term], Iterable[Term]]
) -> list[Term]:
    for place, clause in enumerate(chosen):
        others = [*chosen[:place], *chosen[place + 1 :]]
        chosen[place] = next((each for each in weaker(clause) if closes([*others, each])), clause)
    return chosen


def _joined(chosen: Sequence[Term]) -> list[Term]:
    """``a <= b`` and ``b <= a`` are one clause."""
    found: dict[Term, None] = {}
    for term in chosen:
        both = term.kind is Kind.LE and t.le(term.args[1], term.args[0]) in chosen
        found[t.eq(*term.args) if both else term] = None
    return list(found)


def fewest(candidates: Sequence[Term], closes: Callable[[Sequence[Term]], bool]) -> list[Term]:
    """A minimal set of candidates that ``closes``, given that all together do and none does not; earlier ones are
    preferred.

    Divide and conquer as in U. Junker, "QuickXplain", AAAI 2004.
    """

    def explain(background: list[Term], fresh: bool, rest: Sequence[Term]) -> list[Term]:
        if fresh and closes(background):
            return []
        if len(rest) == 1:
            return list(rest)
        half = len(rest) // 2
        first, second = rest[:half], rest[half:]
        needed = explain([*background, *first], True, second)
        return [*explain([*background, *needed], bool(needed), first), *needed]

    return explain([], False, candidates)
