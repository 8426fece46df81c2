"""The kinds of data facts that there are.  Everybody else asks here, and names none of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from ..fact_kind import FactKind
from ..launch import DataFact
from .base import Fact, FactOfTwo
from .buckets import Buckets
from .disjoint_rows import DisjointRows
from .form import Subject
from .injective import Injective
from .multiples import Multiples
from .nondecreasing import Nondecreasing
from .permutation import Permutation
from .ranges import Range
from .ranks import Ranks
from .segments import Segments
from .shares import Shares
from .statements import DataTerm, NumberedFact

FACTS: Final[Mapping[FactKind, Fact]] = {
    fact.kind: fact
    for fact in (
        Injective(),
        Permutation(),
        Nondecreasing(),
        Range(),
        Multiples(),
        Shares(),
        DisjointRows(),
        Segments(),
        Ranks(),
        Buckets(),
    )
}
"""By the word that begins them in a launch spec, in the order in which messages list them."""

AnyFact: TypeAlias = DataFact | DataTerm | NumberedFact


def meaning_of(fact: AnyFact) -> Fact:
    """What the kind of the fact means."""
    return FACTS[fact.fact.kind if isinstance(fact, DataTerm) else fact.kind]


def subject_of(fact: AnyFact) -> Subject:
    """What of the values the fact speaks of."""
    return meaning_of(fact).subject


def by_subject(subjects: Iterable[Subject] = Subject) -> list[Fact]:
    """All kinds on these subjects, in their order."""
    return [fact for subject in subjects for fact in FACTS.values() if fact.subject is subject]


def of_two(subjects: Iterable[Subject] = Subject) -> list[FactOfTwo]:
    """Those of them that are facts about two arrays."""
    return [fact for fact in by_subject(subjects) if isinstance(fact, FactOfTwo)]
