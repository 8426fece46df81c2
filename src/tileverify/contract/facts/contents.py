"""Several contents of an index array that keep its facts, as different from each other as the facts allow.

They are built for the facts, each kind of which adds its own, not drawn until one fits: counting up and down, far
apart, alike, in parts, one behind the other.  What the facts do not admit is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice, product
from math import comb, lcm, prod
from random import Random
from typing import Final, TypeAlias

from ..element_types import INT_BITS
from ..launch import ConcreteArray
from .form import DISTINCT, Subject
from .kept import filled_in_turn, keep_together, keeps
from .kinds import by_subject, meaning_of, subject_of
from .layouts import DRAWN, HINTS, Layouts, hints_of
from .statements import NumberedFact

MOST_ELEMENTS: Final = 1 << 17
"""Elements of an array that are given values one by one."""

WIDE: Final = 4096
"""Apart by more than most tiles are wide; how far an access reaches in a launch is only known once it has run."""

FEW_CONTENTS: Final = 64
"""So many contents can all be tried."""

ALL_TRIED: Final = 10_000
"""So many contents are looked through for some that keep the facts, where none that are made for them do."""


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

    @property
    def stated(self) -> dict[int, int]:
        """The values that facts give single elements, by their number."""
        one = (fact for fact in self.facts if subject_of(fact) is Subject.ELEMENT)
        return {fact.amount: fact.low for fact in one if fact.amount is not None and fact.low is not None}

    @property
    def settled(self) -> bool:
        """Facts give every element its value."""
        return set(range(len(self.places))) <= self.stated.keys()

    def with_stated(self, values: Sequence[int]) -> Sequence[int]:
        """Contents with those values put in."""
        stated = self.stated
        return [stated.get(number, value) for number, value in enumerate(values)] if stated else values

    @classmethod
    def of(
        cls, array: ConcreteArray, facts: Sequence[NumberedFact], far: int = WIDE, marks: Sequence[int] = ()
    ) -> Described:
        own = [fact for fact in facts if not fact.others]
        bits = INT_BITS[array.dtype]
        unsigned = array.dtype.startswith("u") or array.dtype == "bool"
        limits = range(1 << bits) if unsigned else range(-(1 << (bits - 1)), 1 << (bits - 1))
        low, high = limits.start, limits.stop
        count = prod(array.shape)
        for least, most in (ends for fact in own if (ends := meaning_of(fact).limits(fact, count)) is not None):
            low, high = max(low, least), min(high, most)
        step = lcm(*(max(fact.amount or 1, 1) for fact in own if subject_of(fact) is Subject.STEPS))
        places = places_of(array.shape, array.strides) if count <= MOST_ELEMENTS else []
        # Where several coordinates mean one element, there are no rows to speak of.
        width = array.shape[-1] if array.shape and len(places) == count else len(places)
        return cls(own, places, max(width, 1), low, high, step, limits, far, marks)

    @property
    def subjects(self) -> set[Subject]:
        """What the facts speak of."""
        return set(map(subject_of, self.facts))

    @property
    def distinct(self) -> bool:
        return not self.subjects.isdisjoint(DISTINCT)

    @property
    def bounded(self) -> bool:
        """A fact gives the values limits, or they are booleans; those that it excuses may lie anywhere."""
        return self.limits.stop == 2 or any(meaning_of(fact).bounded for fact in self.facts)

    @property
    def rising(self) -> bool:
        return Subject.ORDER in self.subjects

    @property
    def total(self) -> int | None:
        """What all values together may come to, where a fact says so."""
        return min((fact.amount or 0 for fact in self.facts if subject_of(fact) is Subject.SUM), default=None)

    @property
    def excused(self) -> list[int]:
        """Values that some fact does not speak of."""
        named = {value for fact in self.facts for value in fact.unless}
        for fact in self.facts:
            if subject_of(fact) in DISTINCT and fact.low is not None and fact.high is not None:
                named |= {fact.low - 1, fact.high}
        return sorted(named)

    @property
    def columns(self) -> list[range]:
        """Of each column, the values that facts on columns and on all elements leave; small ones where they leave
        all."""
        found = [(self.low, self.high) if self.bounded else None] * self.width
        for fact in self.facts:
            if subject_of(fact) is Subject.COLUMN and (fact.amount or 0) < self.width:
                assert fact.amount is not None
                assert fact.low is not None
                assert fact.high is not None
                low, high = found[fact.amount] or (fact.low, fact.high)
                found[fact.amount] = max(low, fact.low), min(high, fact.high)
        ends = [each or (0, self.step * max(len(self.places), 1)) for each in found]
        return [range(-(-low // self.step) * self.step, high, self.step) for low, high in ends]

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
    count = len(described.places)
    if described.settled:
        made: Iterable[Sequence[int]] = [[0] * count]
    elif not exhausts(described):
        made = _layouts(described)
    elif _in_one_row(described):
        made = combinations_with_replacement(sorted(_every_value(described)), count)
    else:
        made = product(_every_value(described), repeat=count)
    found = dict.fromkeys(tuple(described.with_stated(_sorted(values, described))) for values in made)
    return [values for values in found if len(values) == len(described.places) and described.kept_by(values)]


def exhausts(described: Described) -> bool:
    """Whether `several` gives all contents that there are."""
    values, count = len(_every_value(described)), len(described.places)
    if described.settled:
        return True
    if not described.bounded:
        return False
    return values**count <= FEW_CONTENTS or (
        _in_one_row(described) and comb(max(values + count - 1, 0), count) <= FEW_CONTENTS
    )


def every(described: Described) -> Iterator[tuple[int, ...]]:
    """All contents whose values lie near the lowest or are excused, with those that do not keep the facts; none where
    these are more than `ALL_TRIED`."""
    values = [value for value in _every_value(described) if value % described.step == 0]
    if len(values) ** len(described.places) <= ALL_TRIED:
        yield from (tuple(described.with_stated(each)) for each in product(values, repeat=len(described.places)))


def _in_one_row(described: Described) -> bool:
    """No value is below the one before it."""
    return described.rising and described.width >= len(described.places)


def _every_value(described: Described) -> Sequence[int]:
    """All values that an element may have; too many, and these are not all."""
    values = range(described.low, min(described.high, described.low + FEW_CONTENTS + 1))
    return [*values, *(value for value in described.excused if value not in values)]


def _sorted(values: Sequence[int], described: Described) -> Sequence[int]:
    if not described.rising:
        return values
    rows = (values[n : n + described.width] for n in range(0, len(values), described.width))
    return [value for row in rows for value in sorted(row)]


def _layouts(described: Described) -> Layouts:
    if described.total is not None:
        yield from _made_for(described, Subject.SUM, *described.subjects & DISTINCT)
        first = -(-described.low // described.step) * described.step
        if described.distinct:  # the least that values can come to which differ
            yield [first + described.step * i for i in range(len(described.places))]
        elif first:
            yield [first] * len(described.places)
        return
    ordinary: list[Sequence[int]] = []
    for values in _ordinary(described):
        ordinary.append(values)
        yield values
    yield from _made_for(described, *described.subjects)
    for value in described.excused if described.places else ():
        for values in ordinary[:3]:
            yield [value, *values[1:]]
            yield [value if n % 2 else each for n, each in enumerate(values)]
            yield [*values[:-1], value]


def _made_for(described: Described, *subjects: Subject) -> Layouts:
    """The contents of each kind of fact that is said of the array."""
    said = {fact.kind for fact in described.facts}
    for kind in by_subject(subject for subject in Subject if subject in subjects):
        if kind.word in said and (alone := HINTS[kind.made].alone) is not None:
            yield from alone(described)


def _ordinary(described: Described) -> Layouts:
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


def _around(mark: int, count: int, low: int, step: int, far: int) -> Layouts:
    """Values on both sides of one that the kernel compares with: one beyond it and the others not, or all beyond it."""
    for beyond in (mark, mark + step):
        yield from _uneven(count, low, beyond)
        yield [beyond - step * (count - 1 - i) for i in range(count)]
        yield [beyond + step * i for i in range(count)]
        yield [-(-beyond // far) * far + far * i for i in range(count)]


def _uneven(count: int, low: int, high: int) -> Layouts:
    """One value unlike all others, and one half unlike the other."""
    for one in dict.fromkeys((count // 2, 0, count - 1)):
        yield [high if i == one else low for i in range(count)]
        yield [low if i == one else high for i in range(count)]
    yield [low if 2 * i < count else high for i in range(count)]


def _drawn(described: Described, low: int, high: int) -> Layouts:
    count, step, random = len(described.places), described.step, Random(len(described.places))
    choices = range(low, high, step)
    for _ in range(DRAWN if choices else 0):
        if len(choices) >= count and (described.distinct or random.random() < 0.5):
            yield random.sample(choices, count)
        else:
            yield [random.choice(choices) for _ in range(count)]


# -------------------------------------------------------------------------------------- of several arrays
def several_segments(
    fact: NumberedFact, starts: Described, lengths: Described
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Starts and lengths that keep the fact on segments and what else is said of each array."""
    both = hints_of(fact).both
    found = {} if both is None else dict.fromkeys((tuple(a), tuple(n)) for a, n in both(fact, starts, lengths))
    return [(a, n) for a, n in found if keep_together(fact, a, n) and starts.kept_by(a) and lengths.kept_by(n)]


BESIDE: Final = 3
"""Contents of an array that are tried beside the same contents of another one."""


Known: TypeAlias = Mapping[str, tuple[int, ...]]
"""What arrays hold, by their names."""


def several_joined(facts: Sequence[NumberedFact], described: Mapping[str, Described]) -> Iterator[Known]:
    """Contents of the arrays that ``facts`` join, which keep them and what else is said of each array.

    Each array is filled beside those that its facts speak of as well; none if they all wait for one another.  Each is
    made when it is asked for: it takes time, and mostly the first few say enough.
    """
    found: Iterable[Known] = [{}]
    for name in filled_in_turn(described, facts) or ():
        own = [fact for fact in facts if fact.array == name]
        if own:
            found = _with_own(name, own, described[name], found)
        else:
            found = _in_turn(name, _of_other(facts, name, described[name]), list(found))
    return (each for each in found if each)


def _with_own(name: str, own: Sequence[NumberedFact], described: Described, found: Iterable[Known]) -> Iterator[Known]:
    """Each of those ``found``, with contents of an array that keep its ``own`` facts beside it."""
    return ({**known, name: a} for turn, known in enumerate(found) for a in _beside(own, described, known, turn))


def _in_turn(name: str, every: Sequence[tuple[int, ...]], found: Sequence[Known]) -> list[Known]:
    """Those ``found`` and ``every`` content of another array, each at least once."""
    count = max(len(every), len(found)) if every and found else 0
    return [{**found[turn % len(found)], name: every[turn % len(every)]} for turn in range(count)]


def _of_other(facts: Sequence[NumberedFact], name: str, described: Described) -> list[tuple[int, ...]]:
    """Contents of an array, with those that are made for facts whose other array it is."""
    made: dict[tuple[int, ...], None] = {}
    for fact in facts:
        second = hints_of(fact).second
        if name in fact.others and second is not None:
            made |= dict.fromkeys(map(tuple, second(fact, described)))
    return list(dict.fromkeys((*filter(described.kept_by, made), *several(described))))


def _beside(own: Sequence[NumberedFact], described: Described, known: Known, turn: int) -> list[tuple[int, ...]]:
    """Contents that keep the array's ``own`` facts beside the ``known`` ones: the most usual, and others in each
    ``turn``."""
    made: dict[tuple[int, ...], None] = {}
    for fact in own:
        made |= dict.fromkeys(map(tuple, _made_beside(fact, described, known)))
    every = list(made)
    turned = every[turn % len(every) :] + every[: turn % len(every)] if every else []
    right = (
        a
        for a in dict.fromkeys((*every[:1], *turned))
        if described.kept_by(a) and all(keep_together(f, a, *(known[name] for name in f.others)) for f in own)
    )
    return list(islice(right, BESIDE))


def _made_beside(fact: NumberedFact, described: Described, known: Known) -> Layouts:
    """Contents that are made for a fact; where nobody makes any, those that the array may have anyway."""
    hints, others = hints_of(fact), [known[name] for name in fact.others]
    if hints.beside is not None:
        yield from hints.beside(fact, described, *others)
    elif hints.usual is not None:
        limits = (described.low, described.high) if described.bounded else None
        yield hints.usual(fact, len(described.places), limits, described.step, *others)
    else:
        yield from several(described)
