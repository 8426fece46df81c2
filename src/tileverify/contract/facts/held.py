"""The facts that hold of given contents: all that a user who has them could declare (`contract.data_facts`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import permutations
from math import gcd

from ..concrete import ConcreteArray
from .contents import places_of
from .kept import NumberedFact, keeps, keeps_apart


def held_facts(arrays: Mapping[str, ConcreteArray], measures: Container[str]) -> list[NumberedFact]:
    """The strongest facts of every kind that the contents of ``arrays`` keep, alone and in pairs.

    ``measures`` hold how much, not where: of those only what people say of amounts, with room to spare.
    """
    values = {name: _elements(array) for name, array in arrays.items()}
    found: list[NumberedFact] = []
    for name, array in arrays.items():
        if values[name]:
            found += _amounts(name, values[name]) if name in measures else _places(name, values[name], array.shape)
            width = array.shape[-1] if array.shape else 1
            found += [f for f in (NumberedFact("nondecreasing", name),) if keeps(f, values[name], width)]
    for starts, lengths in permutations((name for name, array in arrays.items() if len(array.shape) == 1), 2):
        fact = NumberedFact("segments", starts, lengths)
        if min(values[lengths], default=0) >= 0 and keeps_apart(fact, values[starts], values[lengths]):
            found.append(fact)
    return found


def _elements(array: ConcreteArray) -> list[int]:
    return [array.contents.get(place, array.fill) for place in places_of(array.shape, array.strides)]


def _places(name: str, values: Sequence[int], shape: Sequence[int]) -> Iterator[NumberedFact]:
    width = shape[-1] if shape else 1
    yield NumberedFact("range", name, low=min(values), high=max(values) + 1)
    yield NumberedFact("multiples", name, amount=max(gcd(*values), 1))
    if min(values) >= 0:
        yield NumberedFact("shares", name, amount=sum(values))
    if keeps(fact := NumberedFact("permutation", name), values, width):
        yield fact
    for kind in ("injective", "disjoint_rows") if len(shape) > 1 else ("injective",):
        fact = NumberedFact(kind, name, unless=_excused(kind, values, width))
        if keeps(fact, values, width):
            yield fact


def _amounts(name: str, values: Sequence[int]) -> Iterator[NumberedFact]:
    """Below a limit, none, or all of them, 0, whole tiles."""
    common = gcd(*values)
    yield NumberedFact("range", name, low=min(1, *values), high=max(2 * max(values), 0) + 1)
    yield NumberedFact("multiples", name, amount=max(common & -common, 1))
    if min(values) >= 0:
        yield NumberedFact("shares", name, amount=2 * sum(values))


def _excused(kind: str, values: Sequence[int], width: int) -> frozenset[int]:
    """The value that occurs most often where such a fact may not hold of it: none, if it need not be excused."""
    if keeps(NumberedFact(kind, ""), values, width):
        return frozenset()
    return frozenset({Counter(values).most_common(1)[0][0]})
