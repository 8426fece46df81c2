"""What the index arrays of a witness hold: what the model says, and for the rest what the contract's facts allow.

A model speaks of the few elements that the question mentions.  The launch must keep the facts in all of them, or it
would be no launch of the contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import lcm, prod
from random import Random
from typing import Final

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.terms import Term
from .claim import ConcreteArray
from .contract import INT_BITS, DataTerm
from .kept_facts import NumberedFact, keeps, keeps_apart

MOST_ELEMENTS: Final = 1 << 17
"""Elements of an array that are given values one by one."""

MOST_VARIED: Final = 1 << 12
"""Elements of an array for which other contents are tried."""

FEWEST: Final = 3
"""Different contents that it takes to say that contents do not matter."""

SPACIOUS: Final = 4
"""Values for each element, where contents shall have room to keep a distance."""

DRAWN: Final = 4
"""Contents that are drawn at random."""

WIDE: Final = 4096
"""Apart by more than any tile is wide in one dimension."""

_DISTINCT: Final = frozenset({"injective", "permutation", "disjoint_rows"})


class NoContents(Exception):
    """No contents were found that keep the facts and what the model says."""


@dataclass(frozen=True, slots=True)
class _Described:
    """An array and the facts on its elements alone; ``places``: storage index of every element, in row-major order.

    Values lie in ``[low, high)`` but for those that facts excuse, and are multiples of ``step``.
    """

    facts: Sequence[NumberedFact]
    places: Sequence[int]
    width: int
    low: int
    high: int
    step: int

    @classmethod
    def of(cls, array: ConcreteArray, facts: Sequence[NumberedFact]) -> _Described:
        own = [fact for fact in facts if fact.other is None]
        bits = INT_BITS[array.dtype]
        low, high = (0, 1 << bits) if array.dtype.startswith("u") else (-(1 << (bits - 1)), 1 << (bits - 1))
        count = prod(array.shape)
        for fact in own:
            if fact.kind == "range":
                assert fact.low is not None
                assert fact.high is not None
                low, high = max(low, fact.low), min(high, fact.high)
            elif fact.kind in ("permutation", "shares"):
                low, high = max(low, 0), min(high, count if fact.amount is None else fact.amount + 1)
        step = lcm(*(max(fact.amount or 1, 1) for fact in own if fact.kind == "multiples"))
        places = _places(array.shape, array.strides) if count <= MOST_ELEMENTS else []
        # Where several coordinates mean one element, there are no rows to speak of.
        width = array.shape[-1] if array.shape and len(places) == count else len(places)
        return cls(own, places, max(width, 1), low, high, step)

    @property
    def distinct(self) -> bool:
        return any(fact.kind in _DISTINCT for fact in self.facts)

    @property
    def bounded(self) -> bool:
        """A fact gives the values limits without exception."""
        limits = ("range", "permutation", "shares")
        return any(fact.kind in limits and not fact.unless for fact in self.facts)

    @property
    def rising(self) -> bool:
        return any(fact.kind == "nondecreasing" for fact in self.facts)

    @property
    def usual(self) -> list[int]:
        """Values to begin with: near 0, the lowest, those that facts excuse."""
        near = min(max(self.low, 0), self.high - 1)
        excused = {value for fact in self.facts for value in fact.unless}
        multiples = (near // self.step * self.step, -(-self.low // self.step) * self.step)
        return list(dict.fromkeys((*multiples, *sorted(excused))))

    def kept_by(self, values: Sequence[int]) -> bool:
        return all(keeps(fact, values, self.width) for fact in self.facts)


def _places(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    indices = product(*map(range, shape))
    return list(dict.fromkeys(sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices))


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
    described = _Described.of(array, facts)
    read = as_read(array.contents, array.dtype)
    count = prod(array.shape)
    if all(fact.pointwise or fact.kind == "shares" for fact in described.facts):
        for fill in described.usual:
            rest = [fill] if count > len(read) else []
            total = sum(read.values()) + fill * (count - len(read))
            fits = all(fact.kind != "shares" or total <= (fact.amount or 0) for fact in described.facts)
            if fits and all(fact.allows(value) for fact in described.facts for value in (*read.values(), *rest)):
                return replace(array, contents=read, fill=fill)
        raise NoContents("a value is out of its range")
    if count > MOST_ELEMENTS:
        raise NoContents("the array is too large for contents of its own")
    fixed = {number: read[place] for number, place in enumerate(described.places) if place in read}
    for values in _fillings(fixed, described):
        if len(values) == len(described.places) and described.kept_by(values):
            return replace(array, contents=dict(zip(described.places, values, strict=True)))
    raise NoContents("there are not enough values, or what the model says breaks a fact")


def _fillings(fixed: Mapping[int, int], described: _Described) -> Iterator[list[int]]:
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


def _rising(fixed: Mapping[int, int], begin: int, end: int, step: int, described: _Described) -> Iterator[int]:
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
    """Whether segments keep their facts, in which two arrays speak together."""
    for fact in facts:
        if fact.other is not None:
            starts, lengths = arrays[fact.array], arrays[fact.other]
            if max(prod(starts.shape), prod(lengths.shape)) > MOST_ELEMENTS:
                return False
            if not keeps_apart(fact, _elements(starts), _elements(lengths)):
                return False
    return True


def _elements(array: ConcreteArray) -> list[int]:
    read = as_read(array.contents, array.dtype)
    return [read.get(place, array.fill) for place in _places(array.shape, array.strides)]


# -------------------------------------------------------------------------------------- of other launches
def other_contents(
    array: ConcreteArray, facts: Sequence[NumberedFact], *, bounded: bool = False
) -> list[ConcreteArray]:  # fmt: skip
    """The array with contents that are as different as its facts allow: counting up and down, far apart, alike, drawn.

    None if the array is too large for that, if it should be ``bounded`` by its facts and is not, or if they leave no
    choice in this launch: in a narrow range values have to repeat, which is the launch's doing.
    """
    if prod(array.shape) > MOST_VARIED:
        return []
    described = _Described.of(array, facts)
    if bounded and not described.bounded:
        return []
    found = dict.fromkeys(tuple(values) for values in _various(described) if described.kept_by(values))
    if len(found) < FEWEST or not any(len(set(values)) == len(values) for values in found):
        return []
    return [replace(array, contents=dict(zip(described.places, values, strict=True)), fill=0) for values in found]


def possible(shape: Sequence[Term], facts: Sequence[DataTerm]) -> Iterator[Term]:
    """What the facts of one array say of the launch itself: limits that leave a value for each element."""
    count = t.product(shape)
    for data in facts:
        if data.fact.kind == "range" and not data.unless and data.low is not None and data.high is not None:
            yield t.or_(t.eq(count, t.ZERO), t.lt(data.low, data.high))
            if any(other.fact.kind == "injective" and other.low is None and not other.unless for other in facts):
                yield t.le(t.add(count, data.low), data.high)


def room(shape: Sequence[Term], facts: Sequence[DataTerm], *, tight: bool) -> Iterator[Term]:
    """Sizes that leave contents some choice: several elements, and room to place them.

    ``tight``: there are as many values as elements, so that all of them are taken; otherwise they can keep a distance.
    """
    if not shape:
        return
    yield t.le(t.const(FEWEST), shape[0])
    yield from (t.le(t.ONE, size) for size in shape[1:])
    count = t.product(shape)
    for data in facts:
        if data.fact.kind == "range" and data.low is not None and data.high is not None:
            values = t.sub(data.high, data.low)
            yield t.eq(values, count) if tight else t.le(t.scale(SPACIOUS, count), values)


def _various(described: _Described) -> Iterator[list[int]]:
    count, step = len(described.places), described.step
    low, high = (described.low, described.high) if described.bounded else (0, step * max(count, 1))
    yield [step * i for i in range(count)]
    yield [low + step * i for i in range(count)]
    yield [WIDE * step * i for i in range(count)]
    yield [low + i * max(1, (high - low) // max(count, 1)) for i in range(count)]
    yield list(range(high - count, high))
    yield list(range(high - 1, high - 1 - count, -1))
    for value in described.usual:
        yield [value] * count
    yield [high - 1] * count
    if not described.bounded:
        yield [-step] * count
        yield [WIDE * step * (i + 1) for i in range(count)]
    random = Random(count)
    for _ in range(DRAWN if low < high else 0):
        drawn = [random.randrange(low, high) // step * step for _ in range(count)]
        if high - low >= count and (described.distinct or random.random() < 0.5):
            drawn = random.sample(range(low, high), count)
        yield sorted(drawn) if described.rising else drawn
