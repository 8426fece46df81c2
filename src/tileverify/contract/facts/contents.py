"""Several contents of an index array that keep its facts, as different from each other as the facts allow.

They are built for the facts (`contract.data_facts` says what each means), not drawn until one fits: counting
up and down, far apart, alike, in parts, one behind the other.  What `kept_facts` does not admit is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import lcm, prod
from random import Random
from typing import Final

from ..as_terms import INT_BITS
from ..concrete import ConcreteArray
from .kept import NumberedFact, keeps, keeps_apart

MOST_ELEMENTS: Final = 1 << 17
"""Elements of an array that are given values one by one."""

WIDE: Final = 4096
"""Apart by more than most tiles are wide; how far an access reaches in a launch is only known once it has run."""

DRAWN: Final = 4
"""Contents that are drawn at random."""

FEW_CONTENTS: Final = 64
"""So many contents can all be tried."""

_DISTINCT: Final = frozenset({"injective", "permutation", "disjoint_rows"})


@dataclass(frozen=True, slots=True)
class Described:
    """An array and the facts on its elements alone; ``places``: storage index of every element, in row-major order.

    Values lie in ``[low, high)`` but for those that facts excuse, and are multiples of ``step``; ``width`` of them make
    a row.  ``limits`` are what the element type can hold.  Values that are ``far`` apart lead to places that do not
    meet.  The kernel compares values with ``marks``.
    """

    facts: Sequence[NumberedFact]
    places: Sequence[int]
    width: int
    low: int
    high: int
    step: int
    limits: range
    far: int = WIDE
    marks: Sequence[int] = ()

    @classmethod
    def of(
        cls, array: ConcreteArray, facts: Sequence[NumberedFact], far: int = WIDE, marks: Sequence[int] = ()
    ) -> Described:
        own = [fact for fact in facts if fact.other is None]
        bits = INT_BITS[array.dtype]
        limits = range(1 << bits) if array.dtype.startswith("u") else range(-(1 << (bits - 1)), 1 << (bits - 1))
        low, high = limits.start, limits.stop
        count = prod(array.shape)
        for fact in own:
            if fact.kind == "range":
                assert fact.low is not None
                assert fact.high is not None
                low, high = max(low, fact.low), min(high, fact.high)
            elif fact.kind in ("permutation", "shares"):
                low, high = max(low, 0), min(high, count if fact.amount is None else fact.amount + 1)
        step = lcm(*(max(fact.amount or 1, 1) for fact in own if fact.kind == "multiples"))
        places = places_of(array.shape, array.strides) if count <= MOST_ELEMENTS else []
        # Where several coordinates mean one element, there are no rows to speak of.
        width = array.shape[-1] if array.shape and len(places) == count else len(places)
        return cls(own, places, max(width, 1), low, high, step, limits, far, marks)

    @property
    def distinct(self) -> bool:
        return any(fact.kind in _DISTINCT for fact in self.facts)

    @property
    def bounded(self) -> bool:
        """A fact gives the values limits; those that it excuses may lie anywhere."""
        return any(fact.kind in ("range", "permutation", "shares") for fact in self.facts)

    @property
    def rising(self) -> bool:
        return any(fact.kind == "nondecreasing" for fact in self.facts)

    @property
    def total(self) -> int | None:
        """What all values together may come to, where a fact says so."""
        return min((fact.amount or 0 for fact in self.facts if fact.kind == "shares"), default=None)

    @property
    def excused(self) -> list[int]:
        """Values that some fact does not speak of."""
        named = {value for fact in self.facts for value in fact.unless}
        for fact in self.facts:
            if fact.kind in _DISTINCT and fact.low is not None and fact.high is not None:
                named |= {fact.low - 1, fact.high}
        return sorted(named)

    @property
    def usual(self) -> list[int]:
        """Values to begin with: near 0, the lowest, those that facts excuse."""
        near = min(max(self.low, 0), self.high - 1)
        excused = {value for fact in self.facts for value in fact.unless}
        multiples = (near // self.step * self.step, -(-self.low // self.step) * self.step)
        return list(dict.fromkeys((*multiples, *sorted(excused))))

    def kept_by(self, values: Sequence[int]) -> bool:
        return all(value in self.limits for value in values) and all(
            keeps(fact, values, self.width) for fact in self.facts
        )


def places_of(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The storage index of every element, in row-major order."""
    indices = product(*map(range, shape))
    return list(dict.fromkeys(sum(i * s for i, s in zip(index, strides, strict=True)) for index in indices))


def several(described: Described) -> list[tuple[int, ...]]:
    """Different contents that keep the facts, the most ordinary first; ``exhausts`` says whether there are others."""
    if exhausts(described):
        made: Iterator[Sequence[int]] = product(_every_value(described), repeat=len(described.places))
    else:
        made = _layouts(described)
    found = dict.fromkeys(tuple(_sorted(values, described)) for values in made)
    return [values for values in found if len(values) == len(described.places) and described.kept_by(values)]


def exhausts(described: Described) -> bool:
    """Whether `several` gives all contents that there are."""
    return described.bounded and len(_every_value(described)) ** len(described.places) <= FEW_CONTENTS


def _every_value(described: Described) -> Sequence[int]:
    """All values that an element may have; too many, and these are not all."""
    values = range(described.low, min(described.high, described.low + FEW_CONTENTS + 1))
    return [*values, *(value for value in described.excused if value not in values)]


def _sorted(values: Sequence[int], described: Described) -> Sequence[int]:
    if not described.rising:
        return values
    rows = (values[n : n + described.width] for n in range(0, len(values), described.width))
    return [value for row in rows for value in sorted(row)]


def _layouts(described: Described) -> Iterator[Sequence[int]]:
    if described.total is not None:
        yield from _parts(described, described.total)
        return
    ordinary: list[Sequence[int]] = []
    for values in _ordinary(described):
        ordinary.append(values)
        yield values
    if any(fact.kind == "disjoint_rows" for fact in described.facts):
        yield from _by_rows(described)
    for value in described.excused if described.places else ():
        for values in ordinary[:3]:
            yield [value, *values[1:]]
            yield [value if n % 2 else each for n, each in enumerate(values)]
            yield [*values[:-1], value]


def _ordinary(described: Described) -> Iterator[Sequence[int]]:
    """Counting up and down, far apart, farther and farther apart, alike, all but one alike, in two halves, drawn."""
    count, step = len(described.places), described.step
    low, high = (described.low, described.high) if described.bounded else (0, step * max(count, 1))
    low = -(-low // step) * step
    top = (high - 1) // step * step
    spacing = max(1, (high - low) // max(count, 1) // step) * step
    far = -(-described.far // step) * step
    for first in (0, low, step):
        yield [first + step * i for i in range(count)]
    yield [far * i for i in range(count)]
    yield [low + spacing * i for i in range(count)]
    yield [top - step * (count - 1 - i) for i in range(count)]
    yield [top - step * i for i in range(count)]
    yield [low + step * (i // 2 + (count + 1) // 2 * (i % 2)) for i in range(count)]
    for value in described.usual:
        yield [value] * count
    yield [top] * count
    yield from _uneven(count, low, low + step)
    if top > low + step:
        yield from _uneven(count, low, top)
    if described.bounded:
        yield [low + far * i for i in range(count)]
        yield [low + far * (i * (i + 1) // 2) for i in range(count)]
    else:
        yield [far * (i * (i + 1) // 2) for i in range(count)]
        yield [-step * (i + 1) for i in range(count)]
        yield [-step] * count
        yield [step * (count + i) for i in range(count)]
        yield [far * (i + 1) for i in range(count)]
        yield [far * (count - i) for i in range(count)]
    for mark in described.marks:
        yield from _around(mark // step * step, count, low, step, far)
    yield from _drawn(described, low, high)


def _around(mark: int, count: int, low: int, step: int, far: int) -> Iterator[Sequence[int]]:
    """Values on both sides of one that the kernel compares with: one beyond it and the others not, or all beyond it."""
    for beyond in (mark, mark + step):
        yield from _uneven(count, low, beyond)
        yield [beyond - step * (count - 1 - i) for i in range(count)]
        yield [beyond + step * i for i in range(count)]
        yield [-(-beyond // far) * far + far * i for i in range(count)]


def _uneven(count: int, low: int, high: int) -> Iterator[Sequence[int]]:
    """One value unlike all others, and one half unlike the other."""
    for one in dict.fromkeys((count // 2, 0, count - 1)):
        yield [high if i == one else low for i in range(count)]
        yield [low if i == one else high for i in range(count)]
    yield [low if 2 * i < count else high for i in range(count)]


def _drawn(described: Described, low: int, high: int) -> Iterator[Sequence[int]]:
    count, step, random = len(described.places), described.step, Random(len(described.places))
    choices = range(low, high, step)
    for _ in range(DRAWN if choices else 0):
        if len(choices) >= count and (described.distinct or random.random() < 0.5):
            yield random.sample(choices, count)
        else:
            yield [random.choice(choices) for _ in range(count)]


def _parts(described: Described, total: int) -> Iterator[Sequence[int]]:
    """Values that come to no more than ``total``: equal, growing, one each, most for one, none for one, drawn.

    That one has it all, or none has any, is not among them unless it is drawn: it is what no one means by shares.
    """
    count, step = len(described.places), described.step
    if not count:
        yield []
        return
    units = total // step
    yield [units // count * step] * count
    yield [step * (2 * units * (i + 1) // (count * (count + 1))) for i in range(count)]
    yield [step * (2 * units * (count - i) // (count * (count + 1))) for i in range(count)]
    yield [step * min(1, units // count)] * count
    yield [units // (2 * count) * step] * count
    for one in dict.fromkeys((0, count // 2, count - 1)):
        yield [step * (units - count + 1 if i == one else 1) for i in range(count)] if units >= count else []
        yield [0 if i == one else units // max(count - 1, 1) * step for i in range(count)]
    random = Random(count)
    for _ in range(DRAWN):
        yield [step * part for part in _cuts(random, units, count)]


def _by_rows(described: Described) -> Iterator[Sequence[int]]:
    """Each row has values of its own: one for the whole row, in reverse order, far apart, in part excused."""
    count, width, step = len(described.places), described.width, described.step
    low = -(-described.low // step) * step if described.bounded else 0
    rows = -(-count // width)
    numbers = [(n // width, n % width) for n in range(count)]
    alike = [low + step * row for row, _ in numbers]
    yield alike
    yield [low + step * (rows - 1 - row) for row, _ in numbers]
    yield [low + -(-described.far // step) * step * row for row, _ in numbers]
    yield [low + step * (row * width + width - 1 - column) for row, column in numbers]
    for value in described.excused:
        yield [value if column else each for each, (_, column) in zip(alike, numbers, strict=True)]
        yield [value if row == rows - 1 else each for each, (row, _) in zip(alike, numbers, strict=True)]


def _cuts(random: Random, total: int, count: int) -> list[int]:
    """``count`` parts of ``total``, drawn."""
    ends = sorted(random.randint(0, total) for _ in range(count))
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


# ---------------------------------------------------------------------------------------------- segments
def several_segments(
    fact: NumberedFact, starts: Described, lengths: Described
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Starts and lengths that keep the fact on segments and what else is said of each array."""
    found = dict.fromkeys((tuple(a), tuple(n)) for a, n in _segments(fact, starts, lengths))
    return [
        (a, n)
        for a, n in found
        if keeps_apart(fact, a, n) and min(n, default=0) >= 0 and starts.kept_by(a) and lengths.kept_by(n)
    ]


def _segments(
    fact: NumberedFact, starts: Described, lengths: Described
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:  # fmt: skip
    """One behind the other with and without gaps, in other orders, of different lengths, with empty ones."""
    real = min(len(starts.places), len(lengths.places))
    low = 0 if fact.low is None else fact.low
    high = low + starts.far * max(real, 1) if fact.high is None else fact.high
    room, random = min(max(high - low, 0), max(lengths.high - 1, 0) * real), Random(real)
    each = room // max(real, 1)
    growing = [2 * room * (i + 1) // (real * (real + 1)) for i in range(real)]
    wide = [low + each * i for i in range(real)]
    backwards = wide[::-1]

    def whole(begin: Sequence[int], sizes: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """With the starts that have no length and the lengths that have no start."""
        end = max((a + n for a, n in zip(begin, sizes, strict=True)), default=low)
        more = [end] * (len(starts.places) - real)
        return [*begin, *more], [*sizes, *[0] * (len(lengths.places) - real)]

    yield whole(wide, [each] * real)
    yield whole(wide, [each // 2] * real)
    yield whole(backwards, [each] * real)
    yield whole(backwards, [each // 2] * real)
    yield whole(wide, [min(each, 1)] * real)
    yield whole([low + min(each, 1) * i for i in range(real)], [min(each, 1)] * real)
    for sizes in (growing, growing[::-1], *(_cuts(random, room, real) for _ in range(DRAWN))):
        yield whole(_one_behind_the_other(low, sizes, range(real)), sizes)
        yield whole(_one_behind_the_other(low, sizes, random.sample(range(real), real)), sizes)
    for empty in (0, 1):
        yield whole(wide, [0 if i % 2 == empty else each for i in range(real)])
    most = [max(room - real + 1, 0) if i == 0 else 1 for i in range(real)]
    yield whole(_one_behind_the_other(low, most, range(real)), most)
    if not room:
        yield whole([low] * real, [0] * real)


def _one_behind_the_other(low: int, sizes: Sequence[int], order: Sequence[int]) -> list[int]:
    """Where segments of these sizes start if they lie in this order."""
    ends = list(accumulate((sizes[i] for i in order), initial=low))
    starts = [low] * len(sizes)
    for place, i in zip(ends, order, strict=False):
        starts[i] = place
    return starts
