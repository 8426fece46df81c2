"""Whether contents of index arrays keep data facts: plain numbers against `contract.data_facts`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...terms import Term
from ..as_terms import DataTerm
from ..launch import DataFact


@dataclass(frozen=True, slots=True)
class NumberedFact:
    """A data fact in one launch; ``other`` are the lengths of segments."""

    kind: str
    array: str
    other: str | None = None
    low: int | None = None
    high: int | None = None
    amount: int | None = None
    unless: frozenset[int] = frozenset()

    @classmethod
    def of(cls, data: DataTerm, number: Callable[[Term], int]) -> NumberedFact:
        """``number`` gives the terms in the fact their values."""
        low, high, amount = (None if part is None else number(part) for part in (data.low, data.high, data.amount))
        return cls(
            data.fact.kind, data.fact.array, data.fact.other, low, high, amount, frozenset(map(number, data.unless))
        )

    def within(self, value: int) -> bool:
        """Whether the value lies in the fact's range, where it has one."""
        return (self.low is None or self.low <= value) and (self.high is None or value < self.high)

    def means(self, value: int) -> bool:
        """Whether a fact on values that do not repeat speaks of this one."""
        return value not in self.unless and self.within(value)

    @property
    def pointwise(self) -> bool:
        """It asks something of each element, and nothing of several together."""
        return self.kind in ("range", "multiples")

    def allows(self, value: int) -> bool:
        """What it asks of each element."""
        match self.kind:
            case "range":
                return self.within(value) or value in self.unless
            case "multiples":
                assert self.amount is not None
                return self.amount >= 1 and value % self.amount == 0
            case "shares":
                return value >= 0
            case _:
                return True


def keeps(fact: NumberedFact, values: Sequence[int], width: int) -> bool:
    """Whether an array keeps a fact about itself; ``values`` in row-major order, ``width`` of them along the last axis.

    Rows of `disjoint_rows` are those of an array of two dimensions.
    """
    if not all(map(fact.allows, values)):
        return False
    match fact.kind:
        case "permutation":
            return sorted(values) == list(range(len(values)))
        case "injective":
            meant = list(filter(fact.means, values))
            return len(set(meant)) == len(meant)
        case "disjoint_rows":
            owner: dict[int, int] = {}
            return all(owner.setdefault(v, n // width) == n // width for n, v in enumerate(values) if fact.means(v))
        case "nondecreasing":
            return all(a <= b or not (n + 1) % width for n, (a, b) in enumerate(pairwise(values)))
        case "shares":
            assert fact.amount is not None
            return sum(values) <= fact.amount
        case kind:
            return kind in ("range", "multiples", "segments")


def keeps_apart(fact: NumberedFact, starts: Sequence[int], lengths: Sequence[int]) -> bool:
    """Whether segments keep their fact; those that are empty may lie anywhere."""
    real = sorted((start, start + length) for start, length in zip(starts, lengths, strict=False) if length > 0)
    inside = all((fact.low is None or fact.low <= a) and (fact.high is None or b <= fact.high) for a, b in real)
    return inside and all(end <= start for (_, end), (start, _) in pairwise(real))


def measures(facts: Collection[NumberedFact | DataFact]) -> set[str]:
    """Arrays of numbers that say how much, not where: shares, and the lengths of segments."""
    lengths = {fact.other for fact in facts if fact.other is not None}
    return lengths | {fact.array for fact in facts if fact.kind == "shares"}


def bounded(facts: Collection[NumberedFact | DataFact]) -> set[str]:
    """Arrays whose values facts give limits; those that they excuse may lie anywhere."""
    limited = {fact.array for fact in facts if fact.kind in ("range", "permutation", "shares")}
    segments = [fact for fact in facts if fact.other is not None and fact.low is not None]
    return limited | {fact.array for fact in segments} | {fact.other for fact in segments if fact.other is not None}


def joined(names: Collection[str], facts: Collection[NumberedFact | DataFact]) -> frozenset[str]:
    """The arrays, and those that a fact joins to them."""
    found = set(names)
    while (
        more := {
            name
            for fact in facts
            if fact.other is not None and {fact.array, fact.other} & found
            for name in (fact.array, fact.other)
        }
        - found
    ):
        found |= more
    return frozenset(found)
