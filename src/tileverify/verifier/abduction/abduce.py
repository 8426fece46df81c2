"""Abduction: a minimal set of assumptions that closes an open question.

    given     a question with a solution under the known facts; candidate assumptions in groups, the most natural first
    wanted    a minimal set of assumptions under which the question has no solution

It finds clauses on launch parameters, limits on sizes, and data facts.  The caller decides two things: which
assumptions are *admissible* (`obligations.limits`: none narrows a written contract), and which launches a choice must
leave (`nonvacuity`: launches in which the kernel does its work).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from ...contract.facts.form import Subject
from ...contract.facts.kinds import subject_of
from ...contract.facts.statements import DataTerm
from ...contract.facts.weaker import strongest
from ...contract.terms import Term
from ...frontend.symbolic.summary import Origin
from ..obligations.fact_use import FactUse, instances

T = TypeVar("T")

Closes: TypeAlias = Callable[[Sequence[Term]], bool]
"""Whether a question has no solution under these assumptions."""


def abduce(
    groups: Iterable[Sequence[T]],
    closes: Callable[[Sequence[T]], bool],
    *,
    admitted: Callable[[Sequence[T], Sequence[T]], Sequence[T]] = lambda offered, group: group,
    accepted: Callable[[Sequence[T]], bool] = lambda chosen: True,
    stop: Callable[[], bool] = lambda: False,
    weaker: Callable[[T], Iterable[T]] = lambda assumption: (),
) -> list[T]:
    """A minimal set of assumptions that closes the question, from the first groups that suffice; empty if none do.

    ``admitted(offered, group)``: the part of a group that is admissible together with ``offered``.
    ``accepted``: whether a choice is an answer; the assumptions of a rejected choice are not offered again.
    ``weaker``: replacements for a chosen assumption, the weakest first.
    """
    offered: list[T] = []
    for group in groups:
        fresh = admitted(offered, [each for each in group if each not in offered])
        offered += fresh
        while fresh and offered and not stop() and closes(offered):
            chosen = _weakened(fewest(offered, closes), closes, weaker)
            if accepted(chosen):
                return chosen
            offered = [each for each in offered if each not in chosen]
        if stop():
            break
    return []


def _weakened(chosen: list[T], closes: Callable[[Sequence[T]], bool], weaker: Callable[[T], Iterable[T]]) -> list[T]:
    for place, assumption in enumerate(chosen):
        others = [*chosen[:place], *chosen[place + 1 :]]
        chosen[place] = next((each for each in weaker(assumption) if closes([*others, each])), assumption)
    return chosen


def fewest(candidates: Sequence[T], closes: Callable[[Sequence[T]], bool]) -> list[T]:
    """A minimal set of candidates that ``closes``; earlier candidates are preferred.

    Precondition: all candidates together close the question, and the empty set does not.

    Divide and conquer as in U. Junker, "QuickXplain", AAAI 2004.
    """
    return _needed([], False, candidates, closes)


def _needed(background: list[T], fresh: bool, rest: Sequence[T], closes: Callable[[Sequence[T]], bool]) -> list[T]:
    """The part of ``rest`` needed beside ``background``; ``fresh``: ``background`` alone may suffice."""
    if fresh and closes(background):
        return []
    if len(rest) == 1:
        return list(rest)
    half = len(rest) // 2
    first, second = rest[:half], rest[half:]
    needed = _needed([*background, *first], True, second, closes)
    return [*_needed([*background, *needed], bool(needed), first, closes), *needed]


Groups: TypeAlias = Sequence[Sequence[DataTerm]]


@dataclass(frozen=True, slots=True)
class OfferedFacts:
    """Unconfirmed data facts, offered to questions that need them; ``groups``: the most usual first."""

    groups: Groups

    def __call__(
        self,
        use: FactUse,
        conditions: Sequence[Term],
        origins: Mapping[str, Origin],
        closes: Callable[[Sequence[Term]], bool],
    ) -> Sequence[DataTerm] | None:
        """Facts assumed earlier come first.  A second range for an array comes last, if nothing else helps."""
        ranged = {data.fact.array for data in use.taken if subject_of(data) is Subject.LIMITS}

        def settled(data: DataTerm) -> bool:
            return subject_of(data) is Subject.LIMITS and data.fact.array in ranged

        now = [[data for data in group if not settled(data)] for group in self.groups]
        later = [[data for data in group if settled(data)] for group in self.groups]
        said: dict[DataTerm, tuple[Term, ...]] = {}

        def closed(facts: Sequence[DataTerm]) -> bool:
            return closes([term for fact in strongest(facts) for term in said[fact]])

        def admitted(_: Sequence[DataTerm], group: Sequence[DataTerm]) -> list[DataTerm]:
            """The facts with an instance in the question."""
            fresh = [fact for fact in dict.fromkeys(group) if fact not in said]
            said.update(
                (fact, tuple(instances(conditions, (fact,), use.contract, origins, use.said))) for fact in fresh
            )
            return [fact for fact in fresh if said[fact]]

        return abduce((use.taken, *now, *later), closed, admitted=admitted) or None
