"""Whether contents of index arrays keep data facts, in plain numbers, and what facts say of arrays as a whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..launch import DataFact
from .base import FactOfTwo
from .form import Subject
from .kinds import meaning_of, subject_of
from .statements import NumberedFact


def allows(fact: NumberedFact, value: int) -> bool:
    """What the fact asks of each element."""
    return meaning_of(fact).allows(fact, value)


def keeps(fact: NumberedFact, values: Sequence[int], width: int) -> bool:
    """Whether an array keeps a fact about itself; ``values`` in row-major order, ``width`` of them along the last axis.

    Rows are those of an array of two dimensions.
    """
    meaning = meaning_of(fact)
    return all(meaning.allows(fact, value) for value in values) and meaning.keeps(fact, values, width)


def keeps_apart(fact: NumberedFact, starts: Sequence[int], lengths: Sequence[int]) -> bool:
    """Whether segments keep their fact; those that are empty may lie anywhere."""
    meaning = meaning_of(fact)
    assert isinstance(meaning, FactOfTwo)
    return meaning.keeps_both(fact, starts, lengths)


def measures(facts: Collection[NumberedFact | DataFact]) -> set[str]:
    """Arrays of numbers that say how much, not where: shares, and the lengths of segments."""
    lengths = {fact.other for fact in facts if fact.other is not None}
    return lengths | {fact.array for fact in facts if subject_of(fact) is Subject.SUM}


def bounded(facts: Collection[NumberedFact | DataFact]) -> set[str]:
    """Arrays whose values facts give limits; those that they excuse may lie anywhere."""
    limited = {fact.array for fact in facts if meaning_of(fact).bounded}
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
