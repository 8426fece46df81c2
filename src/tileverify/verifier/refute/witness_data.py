"""What the index arrays of a witness hold: what the model says, and for the rest what the contract's facts allow.

A model speaks of the few elements that the question mentions.  The launch must keep the facts in all of them, or it
would be no launch of the contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from ...contract.element_types import INT_BITS
from ...contract.facts.contents import MOST_ELEMENTS, Described, places_of
from ...contract.facts.form import Subject
from ...contract.facts.kept import allows, keep_together
from ...contract.facts.statements import NumberedFact
from ...contract.launch import ConcreteArray

_EACH_AND_SUM: Final = frozenset({Subject.LIMITS, Subject.STEPS, Subject.SUM})
"""What facts speak of that ask something of each element, or of the sum of all."""


class NoContents(Exception):
    """No contents were found that keep the facts and what the model says."""


def as_read(values: Mapping[int, int], dtype: str) -> dict[int, int]:
    """Elements as their type reads them; terms have the signed reading."""
    unsigned = dtype.startswith("u")
    return {place: value % (1 << INT_BITS[dtype]) if unsigned else value for place, value in values.items()}


# ------------------------------------------------------------------------------------------- of a model
def completed(array: ConcreteArray, facts: Sequence[NumberedFact]) -> ConcreteArray:
    """``array`` with its contents as they are, and values for the rest, so that the ``facts`` on it hold.

    :raises NoContents: there are none, or none that are found this way.
    """
    if not facts:
        return array
    described = Described.of(array, facts)
    read = as_read(array.contents, array.dtype)
    count = prod(array.shape)
    if described.subjects <= _EACH_AND_SUM:
        for fill in described.usual:
            rest = [fill] if count > len(read) else []
            total = sum(read.values()) + fill * (count - len(read))
            fits = described.total is None or total <= described.total
            if fits and all(allows(fact, [*read.values(), *rest]) for fact in described.facts):
                return replace(array, contents=read, fill=fill)
        raise NoContents("a value is out of its range")
    if count > MOST_ELEMENTS:
        raise NoContents("the array is too large for contents of its own")
    fixed = {number: read[place] for number, place in enumerate(described.places) if place in read}
    for values in _fillings(fixed, described):
        if len(values) == len(described.places) and described.kept_by(values):
            return replace(array, contents=dict(zip(described.places, values, strict=True)))
    raise NoContents("there are not enough values, or what the model says breaks a fact")


def _fillings(fixed: Mapping[int, int], described: Described) -> Iterator[list[int]]:
    count = len(described.places)
    for value in described.usual:
        yield [fixed.get(number, value) for number in range(count)]
    for step in (0, described.step):
        rows = range(0, count, described.width)
        yield [value for row in rows for value in _rising(fixed, row, row + described.width, step, described)]
    taken = set(fixed.values())
    for start in described.usual:
        unused = (value for value in range(start, described.high, described.step) if value not in taken)
        given = (fixed[number] if number in fixed else next(unused, None) for number in range(count))
        yield [value for value in given if value is not None]


def _rising(fixed: Mapping[int, int], begin: int, end: int, step: int, described: Described) -> Iterator[int]:
    """A row with the values that it has at ``fixed`` places, each other one ``step`` above the one before it."""
    usual = described.usual[0]
    start = min(usual, described.high - step * (end - begin))
    first = next((number for number in range(begin, end) if number in fixed), None)
    if first is not None:
        start = fixed[first] - step * (first - begin) if step else min(usual, fixed[first])
    value = start - step
    for number in range(begin, end):
        value = fixed.get(number, value + step)
        yield value


def segments_keep(arrays: Mapping[str, ConcreteArray], facts: Iterable[NumberedFact]) -> bool:
    """Whether the facts hold in which several arrays speak together, as segments, or as ranks and their keys."""
    for fact in facts:
        if fact.others:
            own = [arrays[name] for name in fact.arrays]
            if max(prod(array.shape) for array in own) > MOST_ELEMENTS:
                return False
            if not keep_together(fact, *map(_elements, own)):
                return False
    return True


def _elements(array: ConcreteArray) -> list[int]:
    read = as_read(array.contents, array.dtype)
    return [read.get(place, array.fill) for place in places_of(array.shape, array.strides)]
