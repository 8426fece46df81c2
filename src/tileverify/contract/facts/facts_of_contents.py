"""The facts that hold of contents: of recorded launches, and all that a user could declare of one launch's.

What a recording saw are observations, in numbers and as strong as they were: nobody says that they hold in the next
launch.  A proof that needs one assumes a weaker form of it and says so (`verifier.abduction.recorded_launch`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import permutations
from typing import Final

from ..data_facts import print_data_fact
from ..launch import ConcreteArray, DataFact, Number
from .columns import Array
from .contents import places_of
from .form import Subject
from .kept import as_array
from .kinds import by_subject
from .observations import HELD, SEEN, ObservedContents
from .statements import NumberedFact

_FIRST: Final = (Subject.LIMITS, Subject.ELEMENTS, Subject.ROWS)
_WRITTEN: Final = (*_FIRST, *(subject for subject in Subject if subject not in _FIRST))
"""The order in which a recording says what it saw: the limits, what differs, all else."""


def observed_facts(contents: Mapping[str, Sequence[Array]]) -> list[str]:
    """Facts as launch specs write them, on arrays by name, each with what it held in several launches."""
    arrays = [ObservedContents(name, found) for name, found in contents.items()]
    observed = [(kind, SEEN[kind.seen]) for kind in by_subject(_WRITTEN) if kind.seen]
    facts: list[NumberedFact] = []
    for seen in arrays:
        for kind, say in observed:
            facts += () if kind.joins else say(kind, seen)
    for kind, say in observed:
        for several in permutations(arrays, len(kind.form.arrays)) if kind.joins else ():
            facts += say(kind, *several)
    return [print_data_fact(_written(fact)) for fact in facts]


def _written(fact: NumberedFact) -> DataFact:
    low, high, amount, width = (None if part is None else Number(part) for part in fact.numbers.values())
    unless = tuple(map(Number, sorted(fact.unless)))
    return DataFact(fact.kind, fact.array, low, high, amount=amount, others=fact.others, unless=unless, width=width)


def held_facts(arrays: Mapping[str, ConcreteArray], measures: Container[str]) -> list[NumberedFact]:
    """The strongest facts of every kind that the contents of ``arrays`` keep, alone and together.

    ``measures`` hold how much, not where: of those only what people say of amounts, with room to spare.
    """
    found = [ObservedContents(name, [_elements(array)], name in measures) for name, array in arrays.items()]
    facts: list[NumberedFact] = []
    for seen in found:
        for kind in by_subject() if seen.values else ():
            facts += () if kind.joins else HELD[kind.held](kind, seen)
    for kind in by_subject():
        for several in permutations(found, len(kind.form.arrays)) if kind.joins else ():
            facts += HELD[kind.held](kind, *several)
    return facts


def _elements(array: ConcreteArray) -> Array:
    """Where several indices mean one element, there are no axes to speak of."""
    values = [array.contents.get(place, array.fill) for place in places_of(array.shape, array.strides)]
    return as_array(values, array.shape)
