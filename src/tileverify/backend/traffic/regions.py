"""The accesses of one site in one launch of numbers: the variables that decide them, their range, their count.

A site's accesses are the values of its *variables* (block, iterations, lanes) under which its *conditions* hold: the
parts of its guard, and of a view that the lane lies inside.  Conditions that share no variable do not meet, so that
accesses are a product of independent *parts*, each counted alone.  In a part, a variable that stands in its conditions
only as a term of a sum runs over an interval, whose ends are computed; the others are tried one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...contract.terms import TRUE, ZERO, Scope, Sort, Term, TermKind, conjuncts, le, lt, postorder
from ...contract.terms.rewriting import rebuild
from ...contract.terms.sums import sub
from ...contract.variables import BID
from ...frontend.symbolic.summary import Loop, Site, ViewFootprint
from ..audit.symbol_values import OPEN, Known, combine, lane

MOST_ITERATIONS: Final = 1 << 16
"""Of a loop that nothing but its variable's own range bounds."""

_FAR: Final = 1 << 40
"""Behind this iteration nothing is asked; a wrap on the way there makes a sum no straight one."""


@dataclass(frozen=True)
class Part:
    """Variables that meet in ``conditions``, and in ``places`` where these are what is asked about."""

    variables: tuple[Term, ...]
    conditions: tuple[Term, ...]
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class SiteParts:
    """A site's accesses as a product, the same for every launch.

    ``fixed``: conditions on the launch alone.  ``at_most``: contents decide, too, whether an access happens, or a loop
    around it may end sooner than its conditions say.
    """

    site: Site
    variables: tuple[Term, ...]
    lanes: Mapping[Term, int]
    fixed: tuple[Term, ...]
    conditions: tuple[Term, ...]
    parts: tuple[Part, ...]
    at_most: bool


def site_parts(site: Site, settled: Callable[[Term], bool] = lambda condition: False) -> SiteParts:
    """The parts of a site; those without a condition are single variables.

    ``settled``: whether a condition on contents holds whatever they are.
    """
    lanes = {each.variable: each.size for each in site.lanes}
    variables = (*BID, *(loop.iteration for loop in site.loops), *lanes)
    every = list(_conditions(site))
    conditions = tuple(each for each in every if not of_contents(each))
    unsettled = any(of_contents(each) and not settled(each) for each in every)
    own = frozenset(variables)
    free = tuple(each for each in conditions if each.free & own)
    return SiteParts(
        site=site,
        variables=variables,
        lanes=lanes,
        fixed=tuple(each for each in conditions if not each.free & own),
        conditions=free,
        parts=parts_of(variables, free),
        at_most=unsettled or any(loop.value is None for loop in site.loops),
    )


def of_contents(term: Term) -> bool:
    """Whether memory, or what a loop carries, decides the term's value."""
    return any(each.kind is TermKind.APPLY for each in term.free)


def parts_of(variables: Sequence[Term], conditions: Sequence[Term], places: Sequence[Term] = ()) -> tuple[Part, ...]:
    """The parts that ``conditions`` make of the variables; those that one place mentions are one part, too."""
    group = {each: each for each in variables}

    def root(each: Term) -> Term:
        while group[each] is not each:
            each = group[each]
        return each

    for term in (*conditions, *places):
        met = [each for each in variables if each in term.free]
        for each in met[1:]:
            group[root(each)] = root(met[0])
    joined: dict[Term, list[Term]] = {}
    for each in variables:
        joined.setdefault(root(each), []).append(each)
    return tuple(
        Part(
            tuple(members),
            tuple(each for each in conditions if each.free.intersection(members)),
            tuple(number for number, place in enumerate(places) if place.free.intersection(members)),
        )
        for members in joined.values()
    )


def _conditions(site: Site) -> Iterable[Term]:
    yield from conjuncts(site.guard)
    place = site.footprint
    if isinstance(place, ViewFootprint):
        for at, size in zip(place.coordinates, place.shape, strict=True):
            yield from (each for each in (le(ZERO, at), lt(at, size)) if each is not TRUE)


@dataclass
class Extents:
    """How many values each variable of a site has in one launch: 0 to that."""

    parts: SiteParts
    values: RangedValues
    sizes: dict[Term, int] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: SiteParts, values: RangedValues, grid: Sequence[int]) -> Extents:
        """Raises `NotCounted` for a loop of which nobody knows how often it runs."""
        found = cls(parts, values, dict(zip(BID, grid, strict=True)) | dict(parts.lanes))
        for loop in parts.site.loops:
            found.sizes[loop.iteration] = found._iterations(loop)
        return found

    def axes(self, variables: Iterable[Term]) -> list[tuple[Term, int]]:
        return [(each, self.sizes[each]) for each in variables]

    def _iterations(self, loop: Loop) -> int:
        """No condition holds in an iteration of this number or behind it."""
        bounds = []
        high = loop.iteration.symbol.high
        if high is not None and high < MOST_ITERATIONS:
            bounds.append(high + 1)
        for condition in self.parts.conditions:
            if loop.iteration in condition.free:
                bounds.extend(self._bound(condition, loop.iteration))
        if not bounds:
            where = f"the loop at line {loop.location.line}" if loop.location is not None else "a loop around it"
            raise NotCounted(f"nobody knows before the launch how often {where} runs")
        return max(0, min(bounds))

    def _bound(self, condition: Term, variable: Term) -> list[int]:
        others = [each for each in self.parts.variables if each in condition.free and each is not variable]
        if any(each not in self.sizes for each in others):
            return []
        axes = self.axes(others)
        if np.prod([float(size) for _, size in axes]) > self.values.cells:
            return []
        if any(size == 0 for _, size in axes):
            return [0]
        found = interval(condition, variable, self.values, axes, _FAR)
        if found is None or found.steps_down is None:
            return []
        return [int(np.max(found.steps_down)) + 1]


@dataclass(frozen=True)
class Interval:
    """From ``low`` to ``high``, for each value of the other variables; ``steps_down``: the end of a condition that
    fails behind it for good, ``None`` where it does not."""

    low: Array
    high: Array
    steps_down: Array | None = None


def interval(
    condition: Term, variable: Term, values: RangedValues, axes: Sequence[tuple[Term, int]], last: int
) -> Interval | None:
    """Where in 0 to ``last`` the condition holds (its ends may lie outside); ``None`` if that is no known interval."""
    if condition.kind not in (TermKind.LT, TermKind.LE):
        return None
    sides = [straight(each, variable, values, axes, last) for each in condition.args]
    if sides[0] is None or sides[1] is None:
        return None
    gap = sub(sides[1], sides[0])
    if straight(gap, variable, values, axes, last) is None:
        return None
    places = {each: lane(place, size, len(axes)) for place, (each, size) in enumerate(axes)}
    first, second = (values.at(gap, places | {variable: Known(number)}) for number in (0, 1))
    if first.open is not None or second.open is not None:
        return None
    start = np.asarray(first.data, np.int64) - (condition.kind is TermKind.LT)
    slope = np.asarray(second.data, np.int64) - np.asarray(first.data, np.int64)
    steep = np.where(slope == 0, 1, slope)
    holds = np.where(start >= 0, last, -1)
    low = np.where(slope > 0, -(start // steep), 0)
    high = np.where(slope < 0, start // np.abs(steep), np.where(slope == 0, holds, last))
    return Interval(low, high, high if np.all(slope < 0) else None)


def ends(
    variable: Term, conditions: Iterable[Term], extents: Extents, axes: Sequence[tuple[Term, int]]
) -> tuple[Array, Array]:
    """The first and the last value of a variable that runs over an interval; the last one is less where it has none."""
    last = extents.sizes[variable] - 1
    low, high = (np.full((1,) * len(axes), number, np.int64) for number in (0, last))
    for condition in conditions:
        found = interval(condition, variable, extents.values, axes, last)
        assert found is not None, condition
        low, high = np.maximum(low, found.low), np.minimum(high, found.high)
    return low, high


def holds_at_all(parts: SiteParts, values: RangedValues, *, most: bool) -> bool:
    """Whether the conditions on the launch hold; where nobody knows, ``most`` says so."""
    return all(bool(truth(values.over(each, ()), most=most)) for each in parts.fixed)


def chosen_intervals(part: Part, extents: Extents, allowed: Iterable[Term]) -> dict[Term, list[Term]]:
    """Variables that run over intervals while the others stand still, with their conditions.

    No condition has two of them.  The largest come first, as so many values need not be tried.
    """
    chosen: dict[Term, list[Term]] = {}
    for variable in sorted(allowed, key=lambda each: -extents.sizes[each]):
        own = [each for each in part.conditions if variable in each.free]
        if any(other in each.free for other in chosen for each in own):
            continue
        if extents.sizes[variable] > 1 and all(_is_straight(each, variable, part, extents, chosen) for each in own):
            chosen[variable] = own
    return chosen


def _is_straight(condition: Term, variable: Term, part: Part, extents: Extents, chosen: Iterable[Term]) -> bool:
    others = [each for each in part.variables if each is not variable and each in condition.free]
    axes = extents.axes(others)
    if np.prod([float(size) for _, size in axes]) > extents.values.cells or any(size == 0 for _, size in axes):
        return False
    return interval(condition, variable, extents.values, axes, extents.sizes[variable] - 1) is not None


# --------------------------------------------------------------------------------------------------------------- values
# Values of terms over ranges of their variables: one array axis for each variable.


Array: TypeAlias = NDArray[np.int64]
Range: TypeAlias = tuple[int, int]
"""First and last value."""

MOST_CELLS: Final = 1 << 20
"""RangedValues of one term that are computed at once."""


class NotCounted(Exception):
    """What a site moves cannot be counted; the text is the reason, a part of a sentence."""


class RangedValues:
    """Terms in one launch, ``numbers`` by the names of its variables; no more than ``cells`` values at once."""

    def __init__(self, numbers: Mapping[str, int], cells: int = MOST_CELLS) -> None:
        self.cells = cells
        self._numbers = numbers
        self._launch: dict[Term, Known] = {}

    def over(self, term: Term, axes: Sequence[tuple[Term, int]]) -> Known:
        """The value for each of the first so many values of each variable; all others are not known."""
        rank = len(axes)
        if np.prod([float(size) for _, size in axes]) > self.cells:
            raise NotCounted("the launch has too many blocks and iterations to be counted one by one")
        return self._value(term, {each: lane(place, size, rank) for place, (each, size) in enumerate(axes)})

    def at(self, term: Term, places: Mapping[Term, Known]) -> Known:
        """The value where variables have these values."""
        return self._value(term, places)

    def _value(self, term: Term, places: Mapping[Term, Known]) -> Known:
        here: dict[Term, Known] = {}
        for part in postorder(term, self._launch):
            if part in here:
                continue
            args = [here[arg] if arg in here else self._launch[arg] for arg in part.args]
            of_launch = part not in places and not any(arg in here for arg in part.args) and _is_of_launch(part)
            memo = self._launch if of_launch else here
            memo[part] = self._step(part, args, places)
        return here[term] if term in here else self._launch[term]

    def _step(self, part: Term, args: list[Known], places: Mapping[Term, Known]) -> Known:
        match part.kind:
            case TermKind.CONST:
                return Known(part.value)
            case TermKind.TRUE | TermKind.FALSE:
                return Known(part.kind is TermKind.TRUE)
            case TermKind.VAR:
                return places[part] if part in places else self._variable(part)
            case TermKind.APPLY:
                return OPEN
            case _:
                return combine(part, args)

    def _variable(self, part: Term) -> Known:
        number = self._numbers.get(part.symbol.name)
        if number is None:
            return OPEN
        return Known(bool(number) if part.symbol.sort is Sort.BOOL else number)


def _is_of_launch(part: Term) -> bool:
    if part.kind is TermKind.VAR:
        return part.symbol.scope is Scope.LAUNCH
    return part.kind is not TermKind.APPLY


def truth(known: Known, *, most: bool) -> NDArray[np.bool]:
    """Where a condition holds; where nobody knows, ``most`` says so."""
    data: NDArray[np.bool] = np.asarray(known.data, bool)
    if known.open is None:
        return data
    unknown: NDArray[np.bool] = np.asarray(known.open, bool)
    return np.logical_or(data, unknown) if most else np.logical_and(data, ~unknown)


def straight(
    term: Term, variable: Term, values: RangedValues, axes: Sequence[tuple[Term, int]], last: int
) -> Term | None:
    """``term`` as a sum in which ``variable`` stands at most as a factor; ``None`` if it is no such sum.

    A wrap that changes nothing for 0 to ``last`` goes away: what is straight in between has its ends there.
    """
    if variable not in term.free or term is variable:
        return term
    if term.kind is TermKind.SUM or (
        term.kind is TermKind.PRODUCT and sum(variable in factor.free for factor in term.args) == 1
    ):
        parts = [straight(part, variable, values, axes, last) for part in term.args]
        return None if None in parts else rebuild(term, tuple(part for part in parts if part is not None))
    if term.kind is TermKind.WRAP:
        inner = straight(term.args[0], variable, values, axes, last)
        half = 1 << (term.payload - 1)
        if inner is not None and all(
            low >= -half and high < half for low, high in _ends(inner, variable, values, axes, last)
        ):
            return inner
    return None


def _ends(term: Term, variable: Term, values: RangedValues, axes: Sequence[tuple[Term, int]], last: int) -> list[Range]:
    rank = len(axes)
    places = {each: lane(place, size, rank) for place, (each, size) in enumerate(axes)}
    found = []
    for end in (0, last):
        known = values.at(term, places | {variable: Known(end)})
        if known.open is not None:
            return [(-(1 << 80), 1 << 80)]
        found.append((int(np.min(known.data)), int(np.max(known.data))))
    return found


# -------------------------------------------------------------------------------------------------------------- counted
# How many lanes of a site touch memory in one launch, over all blocks and iterations.


Bounds: TypeAlias = tuple[int, int]
"""At least, and at most."""


def lanes_touched(parts: SiteParts, extents: Extents) -> tuple[Bounds, tuple[Bounds, ...]]:
    """Accesses of single lanes over all blocks and iterations, and the counts of the parts whose product they are."""
    counts = tuple(_count(part, extents) for part in parts.parts)
    low = prod(each[0] for each in counts) if holds_at_all(parts, extents.values, most=False) else 0
    high = prod(each[1] for each in counts) if holds_at_all(parts, extents.values, most=True) else 0
    return (0 if parts.at_most else low, high), counts


def _count(part: Part, extents: Extents) -> Bounds:
    """The values of a part's variables under which its conditions hold."""
    sizes = extents.sizes
    whole = prod(sizes[each] for each in part.variables)
    if not part.conditions or not whole:
        return whole, whole
    free = chosen_intervals(part, extents, part.variables)
    axes = extents.axes(each for each in part.variables if each not in free)
    counts = np.ones(tuple(size for _, size in axes), np.int64)
    settled: list[Term] = []
    for variable, conditions in free.items():
        low, high = ends(variable, conditions, extents, axes)
        counts = counts * np.maximum(high - low + 1, 0)
        settled += conditions
    least = most = counts
    for condition in part.conditions:
        if condition not in settled:
            known = extents.values.over(condition, axes)
            least = least * truth(known, most=False)
            most = most * truth(known, most=True)
    return _total(least), _total(most)


def _total(counts: Array) -> int:
    return int(counts.sum())
