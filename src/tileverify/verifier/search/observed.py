"""Which facts follow from what a recording saw of a launch's index arrays.

A recording notes the strongest facts that held of the contents, in numbers: ``range(pos, 0, 512)``.  A proof for other
launches needs weaker ones with names, ``range(pos, 0, cache.shape[0])``; it follows if the recorded launch had at least
512 rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...contract.expressions import Undefined, evaluate
from ...contract.launch import DataFact, Expression, LaunchSpec
from ...contract.numbers import numbers_of


def follow_from_observed(groups: Iterable[Iterable[DataFact]], launch: LaunchSpec) -> list[list[DataFact]]:
    """The facts, group by group, that follow from what was observed of ``launch``, whose sizes are numbers."""
    numbers = numbers_of(launch)
    return [[fact for fact in group if follows(fact, launch.observed, numbers)] for group in groups]


def follows(fact: DataFact, observed: Iterable[DataFact], numbers: Mapping[str, int]) -> bool:
    """Whether ``fact``, with the launch's ``numbers`` for its names, says no more than one of the ``observed``."""
    try:
        wanted = _Numbers.of(fact, numbers)
        return any(
            (seen.array, seen.other) == (fact.array, fact.other)
            and _implies(seen.kind, _Numbers.of(seen, numbers), fact.kind, wanted)
            for seen in observed
        )
    except (KeyError, Undefined):
        return False


@dataclass(frozen=True, slots=True)
class _Numbers:
    """``bounds`` and ``amount`` of a fact, and the values that it excuses."""

    bounds: tuple[int, int] | None
    amount: int
    excused: frozenset[int]

    @classmethod
    def of(cls, fact: DataFact, numbers: Mapping[str, int]) -> _Numbers:
        def number(expression: Expression) -> int:
            return evaluate(expression, numbers)

        bounds = None if fact.low is None or fact.high is None else (number(fact.low), number(fact.high))
        amount = 0 if fact.amount is None else number(fact.amount)
        return cls(bounds, amount, frozenset(map(number, fact.unless)))


def _implies(seen: str, known: _Numbers, kind: str, wanted: _Numbers) -> bool:
    match kind:
        case "range":
            return seen == kind and known.excused <= wanted.excused and _lies_in(known.bounds, wanted.bounds)
        case "injective" | "disjoint_rows":
            alike = seen in (kind, "injective") and known.excused <= wanted.excused
            return alike and _lies_in(wanted.bounds, known.bounds)
        case "segments":
            return seen == kind and _lies_in(known.bounds, wanted.bounds)
        case "multiples":
            return seen == kind and wanted.amount > 0 and known.amount % wanted.amount == 0
        case "shares":
            return seen == kind and known.amount <= wanted.amount
    return seen == kind


def _lies_in(inner: tuple[int, int] | None, outer: tuple[int, int] | None) -> bool:
    """No bounds are the widest."""
    return outer is None or (inner is not None and outer[0] <= inner[0] and inner[1] <= outer[1])
