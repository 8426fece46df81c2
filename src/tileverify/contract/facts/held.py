"""The facts that hold of given contents: all that a user who has them could declare."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import permutations

from ..concrete import ConcreteArray
from .contents import places_of
from .found import HeldValues
from .kinds import by_subject, of_two
from .statements import NumberedFact


def held_facts(arrays: Mapping[str, ConcreteArray], measures: Container[str]) -> list[NumberedFact]:
    """The strongest facts of every kind that the contents of ``arrays`` keep, alone and in pairs.

    ``measures`` hold how much, not where: of those only what people say of amounts, with room to spare.
    """
    found = [HeldValues(name, _elements(array), array.shape, name in measures) for name, array in arrays.items()]
    facts = [fact for held in found if held.values for kind in by_subject() for fact in kind.held(held)]
    pairs = list(permutations(found, 2))
    return facts + [fact for kind in of_two() for first, second in pairs for fact in kind.held_both(first, second)]


def _elements(array: ConcreteArray) -> list[int]:
    return [array.contents.get(place, array.fill) for place in places_of(array.shape, array.strides)]
