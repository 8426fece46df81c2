"""Whether contents of index arrays keep data facts, in plain numbers, and what facts say of arrays as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

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
    """Whether two arrays keep a fact on both; segments and buckets that are empty may lie anywhere."""
    meaning = meaning_of(fact)
    assert isinstance(meaning, FactOfTwo)
    return meaning.keeps_both(fact, starts, lengths)


def measures(facts: Collection[NumberedFact | DataFact]) -> set[str]:
    """Arrays of numbers that say how much, not where: shares, and the lengths of segments."""
    lengths = {fact.other for fact in facts if fact.other is not None and measured(fact)}
    return lengths | {fact.array for fact in facts if subject_of(fact) is Subject.SUM}


def measured(fact: NumberedFact | DataFact) -> bool:
    """Whether what the fact's other array holds says how much there is."""
    meaning = meaning_of(fact)
    return isinstance(meaning, FactOfTwo) and meaning.measured


def bounded(facts: Collection[NumberedFact | DataFact]) -> set[str]:
    """Arrays whose values facts give limits; those that they excuse may lie anywhere."""
    limited = {fact.array for fact in facts if meaning_of(fact).bounded}
    both = [(fact, meaning) for fact in facts if isinstance(meaning := meaning_of(fact), FactOfTwo)]
    return limited | {name for fact, meaning in both for name in meaning.limited(fact)}


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


def filled_in_turn(names: Iterable[str], facts: Collection[NumberedFact | DataFact]) -> list[str] | None:
    """The arrays in an order in which each comes behind those that facts on it speak of as well, as they are otherwise;
    ``None`` if there is none."""
    beside = {name: {f.other for f in facts if f.array == name and f.other is not None} for name in names}
    found: list[str] = []
    while len(found) < len(beside):
        free = next((name for name in beside if name not in found and beside[name] & beside.keys() <= {*found}), None)
        if free is None:
            return None
        found.append(free)
    return found
