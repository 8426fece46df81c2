"""What the index arrays of a witness hold: what the model says, and for the rest what the contract's facts allow.

A model speaks of the few elements that the question mentions.  The launch must keep the facts in all of them, or it
would be no launch of the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from random import Random
from typing import Final

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.terms import Term
from .contract import INT_BITS, DataTerm

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

_KINDS: Final = frozenset({"range", "injective", "permutation", "nondecreasing"})


class NoContents(Exception):
    """No contents were found that keep the facts and what the model says."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Elements by storage index; all others hold ``fill``."""

    values: Mapping[int, int]
    fill: int = 0


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the facts of one array allow: values in ``[low, high)``, ``distinct``, in ``rising`` order or both.

    ``bounded``: a fact gives the limits; otherwise they are those of the type.
    """

    low: int
    high: int
    distinct: bool
    rising: bool
    bounded: bool

    @classmethod
    def by(
        cls, facts: Sequence[DataTerm], shape: Sequence[int], dtype: str, number: Callable[[Term], int]
    ) -> Allowed:  # fmt: skip
        """``number`` gives the terms in the facts their values.  Raises `NoContents` for a fact of another kind."""
        kinds = {data.fact.kind for data in facts}
        if not kinds <= _KINDS:
            raise NoContents(f"no contents are made for {', '.join(sorted(kinds - _KINDS))}")
        bits = INT_BITS[dtype]
        low, high = widest = (0, 1 << bits) if dtype.startswith("u") else (-(1 << (bits - 1)), 1 << (bits - 1))
        for data in facts:
            if data.fact.kind == "permutation":
                low, high = max(low, 0), min(high, prod(shape))
            elif data.low is not None and data.high is not None:
                low, high = max(low, number(data.low)), min(high, number(data.high))
        distinct = bool(kinds & {"injective", "permutation"})
        return cls(low, high, distinct, "nondecreasing" in kinds, (low, high) != widest)

    def keeps(self, values: Sequence[int]) -> bool:
        """Whether these contents, in row-major order, are allowed."""
        return (
            all(self.low <= value < self.high for value in values)
            and not (self.distinct and len(set(values)) < len(values))
            and not (self.rising and any(after < before for before, after in pairwise(values)))
        )

    @property
    def least(self) -> int:
        """The allowed value that is nearest to 0."""
        return min(max(self.low, 0), self.high - 1)


def storage_places(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The storage index of every element, in row-major order; once where several have the same."""
    indices = product(*map(range, shape))
    return list(dict.fromkeys(sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices))


# ------------------------------------------------------------------------------------------- of a model
def completed(
    known: Mapping[int, int], shape: Sequence[int], strides: Sequence[int], dtype: str, facts: Sequence[DataTerm],
    number: Callable[[Term], int],
) -> Contents:  # fmt: skip
    """``known`` (elements by storage index) and values for the rest, so that ``facts`` of this array hold.

    :raises NoContents: there are none, or none that are found this way.
    """
    if not facts:
        return Contents(known)
    allowed = Allowed.by(facts, shape, dtype, number)
    read = {place: value % (1 << INT_BITS[dtype]) if dtype.startswith("u") else value for place, value in known.items()}
    if not (allowed.distinct or allowed.rising):
        if not allowed.keeps([*read.values(), *([allowed.least] if prod(shape) > len(read) else [])]):
            raise NoContents("a value is out of its range")
        return Contents(read, allowed.least)
    if prod(shape) > MOST_ELEMENTS:
        raise NoContents("the array is too large for contents of its own")
    places = storage_places(shape, strides)
    fixed = {position: read[place] for position, place in enumerate(places) if place in read}
    values = list(_filled(fixed, len(places), allowed))
    if len(values) < len(places) or not allowed.keeps(values):
        raise NoContents("there are not enough values, or what the model says breaks a fact")
    return Contents(dict(zip(places, values, strict=True)))


def _filled(fixed: Mapping[int, int], count: int, allowed: Allowed) -> Iterator[int]:
    """``count`` values with those at ``fixed`` positions; fewer if there are none left."""
    if allowed.rising:
        step = int(allowed.distinct)
        position, value = next(iter(fixed.items()), (0, min(allowed.least, allowed.high - step * count)))
        value = value - step * (position + 1) if allowed.distinct else min(value, allowed.least)
        for position in range(count):
            value = fixed.get(position, value + step)
            yield value
        return
    taken = set(fixed.values())
    start = 0 if allowed.low <= 0 and 2 * count <= allowed.high else allowed.low
    unused = (value for value in range(start, allowed.high) if value not in taken)
    for position in range(count):
        following = fixed[position] if position in fixed else next(unused, None)
        if following is None:
            return
        yield following


# -------------------------------------------------------------------------------------- of other launches
def other_contents(
    shape: Sequence[int], strides: Sequence[int], dtype: str, facts: Sequence[DataTerm], number: Callable[[Term], int],
    *, bounded: bool = False,
) -> list[Contents]:  # fmt: skip
    """Contents of one array that are as different as its facts allow: counting up and down, far apart, alike, drawn.

    None if the array is too large for that, if it should be ``bounded`` by its facts and is not, or if they leave no
    choice in this launch: in a narrow range values have to repeat, which is the launch's doing.
    """
    if prod(shape) > MOST_VARIED:
        return []
    try:
        allowed = Allowed.by(facts, shape, dtype, number)
    except NoContents:
        return []
    if bounded and not allowed.bounded:
        return []
    places = storage_places(shape, strides)
    found = dict.fromkeys(tuple(values) for values in _various(len(places), allowed) if allowed.keeps(values))
    if len(found) < FEWEST or not any(len(set(values)) == len(values) for values in found):
        return []
    return [Contents(dict(zip(places, values, strict=True))) for values in found]


def possible(shape: Sequence[Term], facts: Sequence[DataTerm]) -> Iterator[Term]:
    """What the facts of one array say of the launch itself: limits that leave a value for each element."""
    count = t.product(shape)
    for data in facts:
        if data.low is not None and data.high is not None:
            yield t.or_(t.eq(count, t.ZERO), t.lt(data.low, data.high))
            if any(other.fact.kind == "injective" for other in facts):
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
        if data.low is not None and data.high is not None:
            values = t.sub(data.high, data.low)
            yield t.eq(values, count) if tight else t.le(t.scale(SPACIOUS, count), values)


def _various(count: int, allowed: Allowed) -> Iterator[list[int]]:
    low, high = (allowed.low, allowed.high) if allowed.bounded else (0, max(count, 1))
    yield list(range(count))
    yield list(range(low, low + count))
    yield [WIDE * i for i in range(count)]
    yield [low + i * max(1, (high - low) // max(count, 1)) for i in range(count)]
    yield list(range(high - count, high))
    yield list(range(high - 1, high - 1 - count, -1))
    yield [allowed.least] * count
    yield [high - 1] * count
    if not allowed.bounded:
        yield [-1] * count
        yield [WIDE * (i + 1) for i in range(count)]
    random = Random(count)
    for _ in range(DRAWN if low < high else 0):
        drawn = [random.randrange(low, high) for _ in range(count)]
        if high - low >= count and (allowed.distinct or random.random() < 0.5):
            drawn = random.sample(range(low, high), count)
        yield sorted(drawn) if allowed.rising else drawn
