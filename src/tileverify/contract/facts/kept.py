"""Whether contents of index arrays keep data facts, in plain numbers, and what facts say of arrays as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING

from ..launch import DataFact
from . import array_facts
from .form import Subject
from .formula import parse
from .kinds import meaning_of
from .statements import NumberedFact

if TYPE_CHECKING:
    from .columns import Array


def allows(fact: NumberedFact, values: Collection[int]) -> bool:
    """Whether each of the values may be an element of the fact's array, as far as that shows of one alone."""
    kind = meaning_of(fact)
    each = [clause for clause in kind.clauses if len(clause.indices) == 1]
    alone = [clause for clause in each if parse("size(a)") not in clause.parts and not clause.of_places]
    alone = [] if kind.subject is Subject.ELEMENT else alone
    held = (array_facts.Held(clause, fact, {"a": as_array([*values], (len(values),))}) for clause in alone)
    return array_facts.too_low(kind, fact) is None and all(one.broken() is None for one in held)


def keeps(fact: NumberedFact, values: Sequence[int], width: int) -> bool:
    """Whether an array keeps a fact about itself; ``values`` in row-major order, ``width`` of them along the last axis.

    Rows are those of an array of two dimensions.
    """
    return array_facts.keeps(meaning_of(fact), fact, as_array(values, (len(values) // width, width)))


def keep_together(fact: NumberedFact, *contents: Sequence[int]) -> bool:
    """Whether arrays of one axis keep a fact on them all; ``contents`` in the order of its arrays."""
    return array_facts.keeps(meaning_of(fact), fact, *(as_array(values, (len(values),)) for values in contents))


def as_array(values: Sequence[int], shape: Sequence[int]) -> Array:
    """Integers of any size; in one row where the shape has not as many elements."""
    import numpy as np

    fits = all(-(1 << 63) <= end < 1 << 63 for end in (min(values, default=0), max(values, default=0)))
    found = np.asarray(values, np.int64 if fits else object)
    return found.reshape(tuple(shape)) if prod(shape) == len(values) else found


# -------------------------------------------------------------------------------------- arrays as a whole
def measures(facts: Collection[NumberedFact | DataFact]) -> set[str]:
    """Arrays of numbers that say how much, not where: shares, and the lengths of segments."""
    roles = [(meaning_of(fact), fact.arrays) for fact in facts]
    return {
        name
        for kind, names in roles
        for role, name in zip(kind.form.arrays, names, strict=True)
        if role in kind.measures
    }


def measured(fact: NumberedFact | DataFact) -> bool:
    """Whether what the fact's other array holds says how much there is."""
    kind = meaning_of(fact)
    return kind.joins and bool(kind.measures)


def bounded(facts: Collection[NumberedFact | DataFact]) -> set[str]:
    """Arrays whose values facts give limits; those that they excuse may lie anywhere."""
    return {name for fact in facts for name in meaning_of(fact).limited(fact)}


def joined(names: Collection[str], facts: Collection[NumberedFact | DataFact]) -> frozenset[str]:
    """The arrays, and those that a fact joins to them."""
    found = set(names)
    while more := {name for fact in facts if found & {*fact.arrays} for name in fact.arrays} - found:
        found |= more
    return frozenset(found)


def filled_in_turn(names: Iterable[str], facts: Collection[NumberedFact | DataFact]) -> list[str] | None:
    """The arrays in an order in which each comes behind those that facts on it speak of as well, as they are otherwise;
    ``None`` if there is none."""
    beside = {name: {other for f in facts if f.array == name for other in f.others} for name in names}
    found: list[str] = []
    while len(found) < len(beside):
        free = next((name for name in beside if name not in found and beside[name] & beside.keys() <= {*found}), None)
        if free is None:
            return None
        found.append(free)
    return found
