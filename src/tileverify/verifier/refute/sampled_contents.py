"""What the index arrays of a witness hold, and whether its fault shows whatever the contract's facts allow there.

A fault of one odd content is no refutation: a further fact, which only the user can add, may exclude it.  So the same
launch runs with contents that are as different from each other as the facts allow, and every one in which the accesses
at stake are reached has to show the fault, between whichever blocks.  A content without it is let pass only if no fact
could tell it from others that show it: contents of which the same facts hold as of this one (`held_facts`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, product
from math import ceil, prod
from typing import Final

from ...contract import terms as t
from ...contract.element_types import INT_BITS
from ...contract.facts.contents import (
    MOST_ELEMENTS,
    WIDE,
    Described,
    exhausts,
    places_of,
    several,
    several_joined,
    several_segments,
)
from ...contract.facts.facts_of_contents import held_facts
from ...contract.facts.form import Subject
from ...contract.facts.kept import allows, bounded, joined, keep_together, measured, measures
from ...contract.facts.kinds import meaning_of, subject_of
from ...contract.facts.statements import DataTerm, NumberedFact
from ...contract.launch import ConcreteArray, ConcreteLaunch
from ...contract.terms import Term, TermKind
from ...results.claim import Claim, Confirm, Confirmation, Shown
from ..obligations.fact_use import loaded_values
from ..obligations.footprint_overlap import PreparedSite
from ..obligations.layout import IndexFootprint

MOST_VARIED: Final = 1 << 13
"""Elements of an array for which other contents are tried."""

MOST_COMBINED: Final = 40
"""Contents of several arrays together that are all tried; of more, each array's own in turn."""

MOST_ALIKE: Final = 8
"""Contents that are tried to find one that the same facts hold of, and that shows the fault."""

FEWEST: Final = 3
"""Different contents that it takes to say that contents do not matter, where there are so many."""

ENOUGH: Final = 12
"""The same where steps run out before all of those at hand were tried."""

MOST_REACHES: Final = 4
"""How often contents are spread again because a block reached further than was known."""

SPACIOUS: Final = 4
"""Values for each element, where contents shall have room to keep a distance."""

Contents = Mapping[str, ConcreteArray]


@dataclass(frozen=True, slots=True)
class Choice:
    """Contents of arrays that are chosen together, to be looked through once; ``all``: there are no others."""

    contents: Iterable[Contents]
    all: bool


@dataclass(frozen=True, slots=True)
class Varied:
    """A launch and the fault that it shows."""

    launch: ConcreteLaunch
    claim: Claim
    confirmation: Confirmation


@dataclass(slots=True)
class _Trial:
    """What came of contents so far: launches at fault, how many contents say so, ``escaped`` if one says no.

    ``wanted``: arrays that had values without repetition, ``distinct``: those among them where the fault showed.
    ``cut``: steps ran out.
    """

    found: list[Varied] = field(default_factory=list)
    seen: int = 0
    distinct: set[str] = field(default_factory=set)
    wanted: set[str] = field(default_factory=set)
    exhaustive: bool = False
    escaped: bool = False
    cut: bool = False

    def seen_enough(self, race: bool) -> bool:
        """Whether the contents that show the fault are many, and different enough.

        Of a ``race`` they are not where steps ran out: contents that belong together, as ranks and the keys that
        they count do, keep blocks apart, and come late among those that are drawn, or never.
        """
        if self.cut and race:
            return False
        fewest = ENOUGH if self.cut else 1 if self.exhaustive else FEWEST
        return bool(self.found) and self.wanted <= self.distinct and self.seen >= fewest


@dataclass(frozen=True, slots=True)
class SampledContents:
    """The launches that differ from ``launch`` in the contents of ``varied`` arrays, which keep ``facts``.

    ``bounded``: arrays whose values the facts have to bound, as values without bounds break bounds of themselves.
    ``race``: the fault is one between two accesses.
    ``far``: how far apart values are that shall lead to places which do not meet.  ``marks``: what the kernel compares
    values with.
    """

    launch: ConcreteLaunch
    varied: frozenset[str]
    facts: Sequence[NumberedFact]
    bounded: frozenset[str]
    race: bool = False
    far: int = WIDE
    marks: Sequence[int] = ()

    def shows(self, claim: Claim, confirm: Confirm) -> Varied | None:
        """The fault as it was first seen; ``None`` if it is not in every content, or too few say so."""
        trial = self._tried(claim, confirm)
        if trial is None or trial.escaped or not trial.seen_enough(self.race):
            return None
        steps = sum(each.confirmation.steps for each in trial.found)
        first = trial.found[0]
        return replace(first, confirmation=replace(first.confirmation, steps=steps))

    def escapes(self, claim: Claim, confirm: Confirm) -> bool:
        """Whether the accesses are reached without the fault in some content that a fact tells from those with it.

        Also where that cannot be tried: nobody has seen the fault in other contents then.
        """
        trial = self._tried(claim, confirm)
        return trial is None or trial.escaped or (trial.cut and not trial.seen_enough(self.race))

    def _tried(self, claim: Claim, confirm: Confirm) -> _Trial | None:
        """The contents in turn, up to one without the fault or the end of the steps; ``None`` if they cannot be varied.

        Contents that are far apart lie so far apart as one block of the launch was seen to reach, and at last so far
        that not two of them lead into one array.
        """
        trial, asked, spread = _Trial(), list[Contents](), self
        largest = max((prod(array.shape) for array in self.launch.arrays.values()), default=0)
        for _ in range(MOST_REACHES):
            choices, far = spread._choices(), spread.far
            if choices is None:
                return None
            trial.exhaustive = all(choice.all for choice in choices)
            for contents in spread._combined(choices):
                if contents in asked:
                    continue
                asked.append(contents)
                far = max(far, spread._try(contents, claim, confirm, trial).reach)
                if trial.escaped or trial.cut:
                    return trial
            far = max(far, largest) if far <= spread.far else far
            if far <= spread.far:
                break
            spread = replace(spread, far=far)
        return trial

    def _try(self, contents: Contents, claim: Claim, confirm: Confirm, trial: _Trial) -> Shown:
        apart = {name for name, array in contents.items() if _distinct(array)}
        trial.wanted |= apart
        launch = self._with(contents)
        shown = confirm.anywhere(launch, claim)
        if shown.confirmation is not None:
            trial.found.append(Varied(launch, shown.claim, shown.confirmation))
        if self._faulty(shown):
            trial.seen += 1
            trial.distinct |= apart
        elif shown.cut:
            trial.cut = True
        elif shown.at_stake and not shown.otherwise and not self._by_chance(contents, claim, confirm):
            trial.escaped = True
        return shown

    def _with(self, contents: Contents) -> ConcreteLaunch:
        return replace(self.launch, arrays={**self.launch.arrays, **contents})

    def _faulty(self, shown: Shown) -> bool:
        """The fault, or one of another kind, unless values may have done that which a further fact would bound: such
        contents say nothing."""
        return shown.confirmation is not None or (shown.otherwise and self.varied <= bounded(self.facts))

    def _by_chance(self, contents: Contents, claim: Claim, confirm: Confirm) -> bool:
        """Whether other contents show the fault, of which all facts hold that hold of these.

        Nobody knows all facts on keys in chunks that hold: these may be of any size.
        """
        if any(fact.others and not measured(fact) for fact in self.facts if fact.array in contents):
            return False
        facts = (*self.facts, *held_facts(contents, measures(self.facts)))
        alike = replace(self, facts=facts)
        choices = alike._choices()
        if choices is None:
            return False
        others = (each for each in alike._combined(choices) if each != contents)
        return any(self._faulty(confirm.anywhere(self._with(each), claim)) for each in islice(others, MOST_ALIKE))

    def _choices(self) -> list[Choice] | None:
        """What the varied arrays may hold, those together that a fact joins; ``None`` if one cannot be varied."""
        choices, done = [], set[str]()
        for fact in self.facts:
            if fact.others and {*fact.arrays} & self.varied and fact.array not in done:
                together = joined({fact.array}, self.facts)
                about = [each for each in self.facts if each.others and each.array in together]
                if all(map(measured, about)):
                    done |= {*fact.arrays}
                    choices.append(self._segments(fact))
                else:
                    done |= together
                    choices.append(self._joined(about, together))
        choices += [self._alone(name) for name in sorted(self.varied - done)]
        found = [choice for choice in choices if choice is not None]
        return found if len(found) == len(choices) else None

    def _described(self, name: str) -> Described | None:
        array = self.launch.arrays[name]
        shared = any(o.allocation == array.allocation for each, o in self.launch.arrays.items() if each != name)
        if shared or prod(array.shape) > MOST_VARIED:
            return None
        return Described.of(array, [fact for fact in self.facts if fact.array == name], self.far, self.marks)

    def _alone(self, name: str) -> Choice | None:
        described = self._described(name)
        if described is None or not (described.settled or self._is_bounded({name})):
            return None
        found = several(described)
        return Choice([{name: self._holding(name, described, values)} for values in found], exhausts(described))

    def _segments(self, fact: NumberedFact) -> Choice | None:
        (other,) = fact.others
        starts, lengths = self._described(fact.array), self._described(other)
        if starts is None or lengths is None or not self._is_bounded({fact.array}):
            return None
        found = several_segments(fact, starts, lengths)
        return Choice(
            [
                {
                    fact.array: self._holding(fact.array, starts, a),
                    other: self._holding(other, lengths, n),
                }
                for a, n in found
            ],
            all=False,
        )

    def _joined(self, facts: Sequence[NumberedFact], names: frozenset[str]) -> Choice | None:
        found = {name: self._described(name) for name in sorted(names)}
        described = {name: each for name, each in found.items() if each is not None}
        if len(described) < len(found) or not self._is_bounded(names):
            return None
        contents = several_joined(facts, described)
        held = ({name: self._holding(name, described[name], each[name]) for name in each} for each in contents)
        return Choice(held, all=False)

    def _is_bounded(self, names: Collection[str]) -> bool:
        """Whether the facts bound the values of those of ``names`` that have to be."""
        return self.bounded.intersection(names) <= bounded(self.facts)

    def _holding(self, name: str, described: Described, values: Sequence[int]) -> ConcreteArray:
        contents = dict(zip(described.places, values, strict=True))
        return replace(self.launch.arrays[name], contents=contents, fill=0)

    def _combined(self, choices: Sequence[Choice]) -> Iterator[Contents]:
        """Contents of all arrays that keep the facts that join them."""
        for parts in _chosen(choices):
            contents = {name: array for part in parts for name, array in part.items()}
            if segments_keep({**self.launch.arrays, **contents}, self.facts):
                yield contents


def _chosen(choices: Sequence[Choice]) -> Iterator[tuple[Contents, ...]]:
    """One of the contents of each choice: all combinations where they are few, of more each one's own in turn.

    Where there is but one choice, contents are made as they are asked for.
    """
    if len(choices) == 1:
        return ((contents,) for contents in choices[0].contents)
    listed = [list(choice.contents) for choice in choices]
    if prod(map(len, listed)) <= MOST_COMBINED:
        return product(*listed)
    turns, shifts = range(max(map(len, listed))), range(min(len(listed), 2))
    return (
        tuple(contents[(turn + number * shift) % len(contents)] for number, contents in enumerate(listed))
        for shift in shifts
        for turn in turns
    )


def _distinct(array: ConcreteArray) -> bool:
    return len(set(array.contents.values())) == len(array.contents)


# ---------------------------------------------------------------------------------- of the launch itself
def possible(shape: Sequence[Term], facts: Sequence[DataTerm]) -> Iterator[Term]:
    """What the facts of one array say of the launch itself: limits that leave a value for each element."""
    count = t.product(shape)
    for data in facts:
        if subject_of(data) is Subject.LIMITS and not data.unless and data.low is not None and data.high is not None:
            yield t.or_(t.eq(count, t.ZERO), t.lt(data.low, data.high))
            if any(map(_apart_anywhere, facts)):
                yield t.le(t.add(count, data.low), data.high)


def _apart_anywhere(data: DataTerm) -> bool:
    """All values differ, and the fact itself does not say where they lie."""
    different = subject_of(data) is Subject.ELEMENTS and not meaning_of(data).bounded
    return different and data.low is None and not data.unless


def room(shape: Sequence[Term], facts: Sequence[DataTerm], reach: int, *, tight: bool) -> Iterator[Term]:
    """Sizes that leave contents some choice: several elements, and room to place them.

    ``tight``: there are as many values as elements, so that all of them are taken; otherwise they can keep a distance
    of ``reach`` from each other and from the lowest.
    """
    if not shape:
        return
    yield t.le(t.const(FEWEST), shape[0])
    yield from (t.le(t.ONE, size) for size in shape[1:])
    count = t.product(shape)
    for data in facts:
        if subject_of(data) in (Subject.LIMITS, Subject.SEGMENTS) and data.low is not None and data.high is not None:
            values = t.sub(data.high, data.low)
            yield t.eq(values, count) if tight else t.le(t.scale(max(reach, SPACIOUS), t.add(count, t.ONE)), values)
        if subject_of(data) is Subject.SUM and data.amount is not None:
            yield t.le(t.scale(SPACIOUS, count), data.amount)


# --------------------------------------------------------------------------------------------------------- witness data
# What the index arrays of a witness hold: what the model says, and for the rest what the contract's facts allow.
#
# A model speaks of the few elements that the question mentions.  The launch must keep the facts in all of them, or it
# would be no launch of the contract.


_EACH_AND_SUM: Final = frozenset({Subject.LIMITS, Subject.STEPS, Subject.SUM})
"""What facts speak of that ask something of each element, or of the sum of all."""


def settled(array: ConcreteArray, facts: Iterable[NumberedFact], name: str) -> bool:
    """Whether ``facts`` give every element of the array its value, so that a launch has no choice."""
    return prod(array.shape) <= MOST_VARIED and Described.of(array, [f for f in facts if f.array == name]).settled


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
    fixed = {**described.stated, **fixed}
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


# ------------------------------------------------------------------------------------------------------ boundary values
# What a kernel's text says of loaded values: how far an access reaches from where they put it, and where it turns.
#
#     coordinate = f(a[i]) + sum(c * lane) + ...,   0 <= lane < size,   f(x + d) - f(x) ~ slope * d
#     span       = sum(|c| * (size - 1))
#
# Values of ``a`` that are ``(1 + span) / |slope|`` apart lead to elements that the lanes of one access do not join.  A
# quotient by d has slope 1/d; a wrap changes nothing where nothing wraps.  What else stands in a coordinate (blocks,
# iterations, sizes) has no reach that the kernel's text gives: replays measure it in a launch.


MOST_MARKS: Final = 6
"""Numbers around which contents are tried."""

_COMPARES: Final = frozenset({TermKind.LE, TermKind.LT, TermKind.EQ, TermKind.MIN, TermKind.MAX})


@dataclass(frozen=True, slots=True)
class TurningPoints:
    """``values``: so far apart, values of an array lead to elements of their own; ``places``: so many, each."""

    values: int = 1
    places: int = 1


def reaches(accesses: Iterable[PreparedSite]) -> Mapping[str, TurningPoints]:
    """The farthest reach of the accesses from the values of each array that their coordinates are sums with."""
    found: dict[str, TurningPoints] = {}
    for prepared in accesses:
        place = prepared.place
        lanes = {lane.variable: lane.size for lane in prepared.site.lanes}
        for term in place.coordinates if isinstance(place, IndexFootprint) else (place.offset,):
            parts = list(_summands(term))
            span = sum(abs(slope) * (lanes[part] - 1) for slope, part in parts if part in lanes)
            for slope, part in parts:
                for array in loaded_values([part]):
                    known = found.get(array, TurningPoints())
                    values = max(known.values, ceil((1 + span) / abs(slope)))
                    found[array] = TurningPoints(values, max(known.places, ceil(1 + span)))
    return found


def _summands(term: Term, slope: Fraction = Fraction(1)) -> Iterator[tuple[Fraction, Term]]:
    """What ``term`` is a sum of, each part with its slope; quotients by a number and wraps are seen through."""
    _, parts = t.linear_parts(term)
    for count, part in parts:
        if part.kind is TermKind.WRAP:
            yield from _summands(part.args[0], count * slope)
        elif part.kind in (TermKind.DIV, TermKind.TDIV) and part.args[1].kind is TermKind.CONST and part.args[1].value:
            yield from _summands(part.args[0], count * slope / part.args[1].value)
        else:
            yield count * slope, part


def marks(conditions: Iterable[Term]) -> tuple[int, ...]:
    """Numbers that loaded values are compared with, and at which the kernel may do something else."""
    found: dict[int, None] = {}
    for condition in conditions:
        for part in t.postorder(condition):
            if part.kind in _COMPARES and loaded_values([part]):
                found |= {arg.value: None for arg in part.args if arg.kind is TermKind.CONST}
                for arg in part.args:
                    if arg.kind is TermKind.SUM:
                        found[-t.linear_parts(arg)[0]] = None
    return tuple(found)[:MOST_MARKS]
