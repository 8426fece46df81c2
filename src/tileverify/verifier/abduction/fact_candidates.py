"""Facts on index data that kernels usually need, read off what a kernel does with the values that it loads.

They come in groups, the most usual kinds first, and in each group the weakest first.  A candidate is only that: whoever
takes one up must show that it suffices, and whoever believes one must have seen the data, or say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations
from typing import Final

from ...contract import terms as t
from ...contract.as_terms import build_contract
from ...contract.contract import array_layout
from ...contract.data_facts import print_data_fact
from ...contract.expressions import Undefined, constant_value, evaluate, numbers_of, scalars_of, without_number
from ...contract.facts.form import Subject
from ...contract.facts.kinds import by_subject, joining, subject_of
from ...contract.facts.observations import COLUMNS
from ...contract.facts.steered import OFFERED, AccessUse, Group
from ...contract.launch import Apply, ArrayArgument, DataFact, Expression, LaunchSpec, ListArgument, Name, Number
from ...contract.terms import Function, Scope, Sort, Term, TermKind
from ...contract.terms.rendering import unsigned_reading
from ...frontend.symbolic.summary import AccessSummary, OriginKind, PointerFootprint, Site, ViewFootprint
from ..obligations.fact_use import loaded_values
from ..obligations.layout import coordinates_of, decompose

MOST_STARTS: Final = 8
"""Numbers of whole tiles that every value may exceed."""

_ZERO = Number(0)


def candidates(summary: AccessSummary, launch: LaunchSpec) -> list[list[DataFact]]:
    """Groups of facts on the arrays whose contents steer accesses of the kernel; empty if there are none."""
    uses = _uses(summary, launch)
    numbers = numbers_of(launch)
    limits = [fact for fact in launch.observed if subject_of(fact) is Subject.LIMITS and fact.low is not None]
    least = [(fact.array, number) for fact in limits if fact.low and (number := constant_value(fact.low)) is not None]
    steered: dict[str, AccessUse] = {}
    for name, use in uses.items():
        starts = _starts(use, max((number for array, number in least if array == name), default=1))
        steered[name] = use.steered(name, starts, numbers)
    groups: dict[Group, list[DataFact]] = {group: [] for group in Group}
    for each in steered.values():
        for kind in by_subject():
            for group, fact in OFFERED[kind.offered](kind.word, each) if kind.offered and not kind.joins else ():
                groups[group].append(fact)
    for first, second in permutations(steered, 2):
        together, indexed = uses[first].places & uses[second].places, second in uses[first].inner
        for both in joining():
            if both.offered and (indexed if both.indexed else together):
                for group, fact in OFFERED[both.offered](both.word, steered[first], steered[second]):
                    groups[group].append(fact)
    return [[replace(fact, text=print_data_fact(fact)) for fact in group] for group in groups.values() if group]


def _starts(use: _Use, most: int) -> list[int]:
    """Where a range may begin but at 0, up to ``most``: at 1, and where whole tiles are full."""
    full = {tile * count + 1 for tile in use.tiles for count in range(1, MOST_STARTS) if tile * count < most}
    return sorted({1, *full})


@dataclass
class _Use:
    """What the values of one array steer.

    ``sizes``: how many places there are where a value is a coordinate, ``ends`` with that the ends of natural ranges;
    ``others``: ends that might do; ``places``: indices that it is loaded at; ``tiles``: sizes of the tiles accessed;
    ``excused``: numbers that its values are compared with; ``inner``: arrays whose values are part of those indices;
    ``factors``: what other parts are multiplied by; ``indexes``: its own values are part of another array's;
    ``columns``: of a table with few, the ends that the values of each go to; ``divisors``: what parts are divided by.
    """

    rank: int
    columns: Sequence[dict[Expression, None]] = ()
    divisors: set[int] = field(default_factory=set)
    sizes: dict[Expression, None] = field(default_factory=dict)
    ends: dict[Expression, None] = field(default_factory=dict)
    others: dict[Expression, None] = field(default_factory=dict)
    places: set[tuple[Term, ...]] = field(default_factory=set)
    tiles: set[int] = field(default_factory=set)
    excused: dict[Expression, None] = field(default_factory=dict)
    inner: set[str] = field(default_factory=set)
    factors: set[int] = field(default_factory=set)
    indexes: bool = False

    def goes_to(self, end: Expression, leaf: Term | None = None) -> None:
        """Values, or counters up to them, reach up to ``end``; ``leaf``: one of these values."""
        ends = dict.fromkeys([_plus(end, 1), end])
        self.ends |= ends
        column = None if leaf is None else self._column(leaf.args)
        for number, own in enumerate(self.columns):
            if column in (number, None):
                own |= ends

    @property
    def _is_of_records(self) -> bool:
        """Each load says which column it takes: the columns hold different things."""
        return all(self._column(place) is not None for place in self.places)

    def _column(self, place: Sequence[Term]) -> int | None:
        """Of an element of a table, counted by rows and columns or in row-major order."""
        count = t.const(max(len(self.columns), 1))
        column = place[-1] if len(place) == self.rank else t.floormod(place[-1], count)
        return column.value if column.kind is TermKind.CONST else None

    def steered(self, name: str, starts: Sequence[int], numbers: Mapping[str, int]) -> AccessUse:
        """What facts of array ``name`` are read off, with the launch's ``numbers`` for its names."""
        return AccessUse(
            name,
            self.rank,
            sizes=_sorted(self.sizes, numbers),
            ends=_sorted(self.ends, numbers),
            others=_sorted([end for end in self.others if end not in self.ends], numbers),
            starts=starts,
            tiles=sorted(self.tiles),
            excused=self.excused,
            places=len(self.places),
            fixed=sum(all(i.kind is TermKind.CONST for i in place) for place in self.places),
            factors=sorted(self.factors),
            indexes=self.indexes,
            columns=[_sorted(each, numbers) for each in self.columns] if self._is_of_records else [],
            divisors=sorted(self.divisors),
        )


def _uses(summary: AccessSummary, launch: LaunchSpec) -> dict[str, _Use]:
    arrays = {array.name: array for array in launch.arrays()}
    in_lists = {listed.name: _any_array(listed) for listed in launch.lists()}
    values = build_contract(launch).values
    found: dict[str, _Use] = {}
    for site in summary.sites:
        terms = _with_loops(_terms(site), summary)
        axes = list(_axes(site, in_lists if site.origin.kind is OriginKind.LIST_ELEMENT else arrays, values))
        direct = {leaf.function.array for axis in axes for leaf, _ in _summands(axis.index)}
        for name, leaves in loaded_values(terms).items():
            if name not in arrays:
                continue
            use = found.setdefault(name, _Use(len(arrays[name].shape), [{} for _ in range(_columns(arrays[name]))]))
            use.places |= {leaf.args for leaf in leaves}
            use.tiles |= {size for size in getattr(site.footprint, "tile", ()) if size > 1}
            use.tiles |= {lane.size for lane in site.lanes if lane.size > 1}
            use.excused |= dict.fromkeys(_compared(leaves, terms))
            use.divisors |= set(_divisors(terms))
            for axis in axes:
                _note(use, name, axis, site.guard, counted=name not in direct)
            use.others |= dict.fromkeys(Name(s.name) for s in scalars_of(launch) if _mentions(terms, s.name))
    for name, use in found.items():
        # A value that is the index of another array's element: table[page[i]].
        for other, another in found.items():
            for place in another.places if other != name else ():
                for d, index in enumerate(place):
                    for leaf, count in _summands(index):
                        if leaf.function.array == name:
                            use.goes_to(_times(_behind(_size(arrays[other], d), index), count), leaf)
                            rows = {c for c, _ in t.linear_parts(_plain(index))[1] if c > 1}
                            use.indexes = True
                            another.inner.add(name)
                            another.factors |= rows
                            use.ends |= dict.fromkeys(map(Number, sorted(rows)))
    return found


def _columns(array: ArrayArgument) -> int:
    """How many columns a table with few has."""
    count = constant_value(array.shape[-1]) if len(array.shape) == 2 else None
    return count if count is not None and 1 < count <= COLUMNS else 0


def _any_array(listed: ListArgument) -> ArrayArgument:
    """An array of a list, whose sizes are what facts call those of every array."""
    shape = tuple(Name(f"{listed.name}.shape[{d}]") for d in range(len(listed.element.shape)))
    return replace(listed.element, name=listed.name, shape=shape)


@dataclass(frozen=True, slots=True)
class _Axis:
    """``index`` of an access along a dimension that has ``size`` places for it."""

    index: Term
    size: Expression


def _axes(site: Site, arrays: Mapping[str, ArrayArgument], values: Mapping[Term, Term]) -> Iterator[_Axis]:
    array = arrays.get(site.origin.name)
    if site.origin.kind not in (OriginKind.PARAMETER, OriginKind.LIST_ELEMENT) or array is None:
        return
    footprint = site.footprint
    if isinstance(footprint, ViewFootprint):
        for index, tile, d in zip(footprint.index, footprint.tile, footprint.dim_map, strict=True):
            size = _size(array, d) if d < len(array.shape) else _ZERO
            yield _Axis(index, size if tile == 1 else Apply("cdiv", (size, Number(tile))))
        starts = decompose(_plain(footprint.base), footprint.origin, footprint.element_bytes) or ()
        yield from (_Axis(start, _size(array, d)) for d, start in enumerate(starts))
    else:
        origin = footprint.origin
        if not origin.shape:  # a plain pointer: as the launch describes what it points to
            shape, strides = (tuple(t.substitute(part, values) for part in parts) for parts in array_layout(array))
            origin = replace(origin, shape=shape, strides=strides)
        coordinates = coordinates_of(_plain(footprint.offset), origin, footprint.element_bytes) or ()
        yield from (_Axis(index, _size(array, d)) for d, index in enumerate(coordinates))


def _plain(term: Term) -> Term:
    """Without the wraps of machine integers, whether they fit or not: this is only to look at."""
    return t.transform(term, lambda sub: sub.args[0] if sub.kind is TermKind.WRAP else None)


def _size(array: ArrayArgument, d: int) -> Expression:
    """A size as a spec would write it; a number by the name that it has in any launch."""
    size = array.shape[d]
    return size if constant_value(size) is None else Name(f"{array.name}.shape[{d}]")


def _behind(size: Expression, index: Term) -> Expression:
    """How many places there are for the rest of an index with a number in it: offsets[k + 1] has one place less."""
    return _plus(size, -max(t.linear_parts(_plain(index))[0], 0))


def _plus(size: Expression, more: int) -> Expression:
    """``size + more``, with one number as people write it."""
    size, known = without_number(size)
    more += known
    return Apply("+" if more > 0 else "-", (size, Number(abs(more)))) if more else size


def _note(use: _Use, name: str, axis: _Axis, guard: Term, *, counted: bool) -> None:
    """What the axis says of the values of array ``name``, which may be ``counted`` up to instead, by the guard."""
    for leaf, count in _summands(axis.index):
        if leaf.function.array == name:
            use.sizes[_times(axis.size, count)] = None
            use.tiles |= {count.numerator} - {1}
            use.goes_to(_times(axis.size, count), leaf)
    counters = [leaf for leaf in axis.index.free if leaf.kind is TermKind.VAR and leaf.symbol.scope is Scope.ITERATION]
    if counted and counters:
        for end in (end for counter in counters for end in _ends_of(counter, guard)):
            for leaf, count in _summands(end):
                if leaf.function.array == name:
                    use.goes_to(_times(axis.size, count), leaf)
        use.goes_to(axis.size)
    use.others |= dict.fromkeys([_plus(axis.size, 1), axis.size])


def _ends_of(counter: Term, guard: Term) -> Iterator[Term]:
    """What the guard says that the counter of a loop stays below."""
    for part in t.postorder(guard):
        if part.kind in (TermKind.LE, TermKind.LT):
            rest = t.sub(part.args[1], part.args[0])
            if (-1, counter) in t.linear_parts(rest)[1]:
                yield t.add(rest, counter)


def _summands(index: Term) -> Iterator[tuple[Term, Fraction]]:
    """The values of arrays that an index is made of, each with how many of its kind make one place."""
    left = [(index, Fraction(1))]
    while left:
        term, count = left.pop()
        match term.kind:
            case TermKind.SUM:
                left += [(part, count / c) for c, part in t.linear_parts(term)[1] if c > 0]
            case TermKind.ITE | TermKind.MIN | TermKind.MAX | TermKind.WRAP:
                left += [(arg, count) for arg in term.args if arg.sort is Sort.INT]
            case TermKind.MOD if unsigned_reading(term):
                left.append((term.args[0], count))
            case TermKind.DIV | TermKind.TDIV if term.args[1].kind is TermKind.CONST and term.args[1].value > 0:
                left.append((term.args[0], count * term.args[1].value))
            case TermKind.APPLY if term.function.array is not None:
                yield term, count


def _times(size: Expression, count: Fraction) -> Expression:
    """``size * count``, rounded down; a factor that is written out already is divided away."""
    if isinstance(size, Apply) and size.op == "*" and isinstance(size.args[0], Number) and count.numerator == 1:
        factor, rest = size.args[0].value, size.args[1]
        if factor % count.denominator == 0:
            factor //= count.denominator
            return rest if factor == 1 else Apply("*", (Number(factor), rest))
    if count == 1:
        return size
    if count.denominator == 1:
        return Apply("*", (size, Number(count.numerator)))
    return Apply("//", (size, Number(count.denominator)))


def _terms(site: Site) -> list[Term]:
    """The guard, and what says where the access lies."""
    footprint = site.footprint
    if isinstance(footprint, PointerFootprint):
        return [site.guard, footprint.offset]
    return [site.guard, footprint.base, *footprint.coordinates, *footprint.shape, *footprint.index]


def _with_loops(terms: Sequence[Term], summary: AccessSummary) -> list[Term]:
    """With what the loop values among them are made of."""
    values = {value.function: value for value in summary.loop_values}
    seen: set[Function] = set()
    left, every = list(terms), list(terms)
    while left:
        for leaf in left.pop().free:
            if leaf.kind is TermKind.APPLY and leaf.function in values and leaf.function not in seen:
                seen.add(leaf.function)
                value = values[leaf.function]
                left += [value.init, value.next, value.handed_on]
                every += [value.init, value.next, value.handed_on]
    return every


def _mentions(terms: Iterable[Term], name: str) -> bool:
    return any(leaf.kind is TermKind.VAR and leaf.symbol.name == name for term in terms for leaf in term.free)


def _divisors(terms: Iterable[Term]) -> Iterator[int]:
    """Numbers above 1."""
    for term in terms:
        for part in t.postorder(term):
            if part.kind in (TermKind.DIV, TermKind.TDIV) and part.args[1].kind is TermKind.CONST:
                yield from (number for number in (part.args[1].value,) if number > 1)


def _compared(leaves: Sequence[Term], terms: Iterable[Term]) -> Iterator[Expression]:
    """Numbers, or scalars of the launch, that a loaded value is tested to be equal to."""
    for term in terms:
        for part in t.postorder(term):
            if part.kind is TermKind.EQ:
                for value, other in (part.args, part.args[::-1]):
                    if value in leaves and other.kind is TermKind.CONST:
                        yield Number(other.value)
                    elif value in leaves and other.kind is TermKind.VAR and other.symbol.scope is Scope.LAUNCH:
                        yield Name(other.symbol.name)


def _sorted(ends: Iterable[Expression], numbers: Mapping[str, int]) -> list[Expression]:
    """The largest first, where the launch's numbers are known; otherwise as they come."""

    def value(end: Expression) -> int:
        try:
            return -evaluate(end, numbers)
        except (KeyError, Undefined):
            return 0

    return sorted(dict.fromkeys(ends), key=value)
