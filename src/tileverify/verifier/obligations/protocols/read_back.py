"""What a load reads back: integers that a block stores to an array and loads again, without any synchronisation.

Let all that may write the array A be weak stores of whole elements, of integers that are known as terms, and let
nothing in the kernel acquire.  An *invariant* of A is a bound

    P(v, n):   s * v <= limit + growth * n            s = 1 or -1,  growth >= 0

on a value v that was stored to A when the block had come past n counted stores.  With guard and argument of a store W,

    step     guard_W, and P(f, n_f) for every value f that W depends on and that is known to satisfy it
                                                                      imply   P(argument_W, n_W + 1)
    base     low <= v < high, a fact on what A holds at first         implies P(v, 0)
    covered  guard_L                                                  implies that L waits for a store to its element

If step holds for all stores W, and base, or covered of a weak load L, then what L gives satisfies P(v, n_L).

Source: Tile IR specification, memory model.  Argument: take an execution up to its first fault, in an order that
extends reads-from and dependency (`docs/soundness.md`, section 3).  There is one because values do not come out of thin
air, so this is an induction over that order.  L reads what one store W put there, or what A held at first.  In the
second case base shows P(v, 0), and covered excludes it: a store that L waits for has overwritten what was there.

In the first case W stands before L in the order.  Elements have one width and are aligned, so nothing is torn.  L and W
conflict, are weak, and are not at fault, so one happens before the other, and L does not happen before what it reads.
Nothing acquires, so that happens-before is the order of tokens: W is of L's block.  An op gives a token before another
takes it, so W comes before L in the program's order, too, and n_L >= n_W + 1.  What the argument of W, and whether W
runs, depend on stands before W in the order and satisfies P by induction: P(argument_W, n_W + 1) by the step.  P only
gets weaker with n.

Counted are the stores that stand directly in one and the same outermost loop, m of them, if all stores that stand in
loops do; and for an access X

    n_X  =  m * k + (counted stores before X in the text)     in iteration k of that loop
    n_X  =  0                                                 in front of the loop
    n_X  =  m * K                                             behind it, where it has K iterations at most

Elsewhere n is not known, and bounds with growth > 0 say nothing.  A store that is not counted has to satisfy
P(argument_W, n_W).  Where no store stands in a loop, all are counted, and n is the number of those before X in the
text.  A load that no store comes before gave what A held at first.

That other blocks write none of what L reads is asked by TV102, that tokens order L and W by TV201: where one of them
fails there is a fault, and nothing is proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.facts.form import Subject
from ....contract.facts.kinds import subject_of
from ....contract.terms import Scope, Sort, Term, TermKind
from ....frontend.bytecode.enums import MemoryOrdering
from ....frontend.symbolic.summary import Access, Origin, OriginKind, Site
from ..fact_use import FactUse
from ..footprint_overlap import PreparedSite, awaited, identity, meet
from ..layout import IndexFootprint, Place
from .instances import (
    Asker,
    BlockSide,
    Fact,
    Initial,
    Instance,
    Point,
    SideCondition,
    before,
    element_writers,
    initial_of,
    own_instance,
    values_in,
    variables_of,
)
from .order import touches

_ACQUIRING: Final = (MemoryOrdering.ACQUIRE, MemoryOrdering.ACQ_REL)
_LOADS: Final = ("load_ptr_tko", "load_view_tko")
_MOST_LIMITS: Final = 6
"""Terms that the values of one array are compared with."""


@dataclass(frozen=True, slots=True)
class Bound:
    """P(v, n): ``sign * v <= limit + growth * n``."""

    sign: int
    limit: Term
    growth: int = 0

    def of(self, value: Term, stores: Term | None) -> Term | None:
        """That ``value`` satisfies it after so many ``stores``; ``None`` where that cannot be said."""
        if self.growth and stores is None:
            return None
        most = t.add(self.limit, t.scale(self.growth, stores)) if stores is not None else self.limit
        return t.le(t.scale(self.sign, value), most)

    def broken_at_first(self, initial: Initial) -> Term:
        """The negation of base: the farthest of the first contents is beyond the limit."""
        return t.lt(self.limit, initial.farthest(self.sign))


Bounds: TypeAlias = Mapping[str, Sequence[Bound]]
"""What was shown of each array, or is to be shown."""


@dataclass(frozen=True, slots=True)
class StoredArray:
    """An array that is loaded and stored without synchronisation; ``initial``: what a fact says of its first contents.

    ``counted``: the stores that n counts; ``loop``: the name of their loop, empty where none stands in one; ``None``
    where stores stand in different ones.
    """

    initial: Initial | None
    stores: tuple[PreparedSite, ...]
    counted: tuple[PreparedSite, ...]
    loop: str | None

    def before(self, seen: Instance) -> Term | None:
        """n: how many counted stores the program's order has come past, at most, when ``seen`` takes place."""
        site = seen.site
        earlier = sum(store.site.offset < site.offset for store in self.counted)
        if self.loop is None:
            return None
        if self.loop and site.loops and site.loops[0].name == self.loop:
            return t.add(t.scale(len(self.counted), seen.args[0]), t.const(earlier))
        if not self.loop or not earlier:
            return t.const(earlier)
        last = self.counted[0].site.loops[0].iteration.high
        return None if last is None else t.const(len(self.counted) * (last + 1))

    def behind(self, store: Instance) -> Term | None:
        """The same right behind one of the stores."""
        stores = self.before(store)
        return stores if stores is None or store.origin not in self.counted else t.add(stores, t.ONE)

    def sees_none(self, site: Site) -> bool:
        """Whether no store comes before ``site`` in the program's order, in whatever iteration."""
        around = {loop.name for loop in site.loops}
        return all(
            store.site.offset > site.offset and not around & {loop.name for loop in store.site.loops}
            for store in self.stores
        )


@dataclass
class ReadBack:
    """The loads of a kernel that may find what their own block stored, by the names of their functions (``loads``).

    ``data``: the contract's facts on contents; ``origins``: what they speak of.
    """

    sites: Sequence[PreparedSite]
    contract: Contract
    data: FactUse
    origins: Mapping[str, Origin]
    ask: Asker
    loads: dict[str, PreparedSite] = field(default_factory=dict)
    _values: dict[int, Term] = field(default_factory=dict)  # what a load gives of a live lane, by the site's number
    _stored: dict[str, StoredArray] = field(default_factory=dict)
    _covered: dict[int, SideCondition] = field(default_factory=dict)  # why, by the number of the load
    _at_first: dict[tuple[str, Bound], SideCondition] = field(default_factory=dict)  # why base holds
    _shown: Bounds | None = None
    _grounds: tuple[SideCondition, ...] = ()

    def __post_init__(self) -> None:
        if any(each.site.ordering in _ACQUIRING for each in self.sites):
            return
        arrays: dict[str, StoredArray | None] = {}
        for each in self.sites:
            value, name = _loaded(each), each.origin.name
            if value is not None and name not in arrays:
                arrays[name] = _stored(each.origin, self.sites, self.contract)
            if value is not None and (stored := arrays[name]) is not None:
                self._stored[name] = stored
                self.loads[value.function.name] = each
                self._values[each.site.number] = value

    def facts(self, sides: Iterable[BlockSide]) -> Iterator[Fact]:
        """What is known of the values that the blocks of a question read back."""
        for side in sides:
            for seen in side.seen:
                for condition in self._about(seen, self._invariants()):
                    happened = t.and_(side.happened(seen), touches(seen, self.contract))
                    yield t.implies(happened, condition), self._grounds

    def _about(self, seen: Instance, shown: Bounds) -> Iterator[Term]:
        name = seen.origin.origin.name
        stored, value = self._stored[name], seen(self._values[seen.site.number])
        if stored.initial is not None and stored.sees_none(seen.site):
            yield t.and_(t.le(stored.initial.low, value), t.lt(value, stored.initial.high))
            return
        for bound in shown.get(name, ()):
            if seen.site.number in self._covered or (name, bound) in self._at_first:
                said = replace(bound, limit=seen.block(bound.limit)).of(value, stored.before(seen))
                if said is not None:
                    yield said

    # -------------------------------------------------------------------------------------------- induction
    def _invariants(self) -> Bounds:
        """Candidates without those that a store may break (Houdini); none where nothing is known to begin with."""
        if self._shown is None:
            self._shown = {}  # what is asked meanwhile does without
            for load in self.loads.values():
                if (why := self._why_covered(load)) is not None:
                    self._covered[load.site.number] = why
            now: Bounds = {name: tuple(self._candidates(name)) for name in self._stored}
            while (kept := {name: self._handed_on(name, now) for name in now}) != now:
                now = kept
            self._grounds = tuple(dict.fromkeys(ground for ground in self._reasons(now) if ground))
            self._shown = now
        return self._shown

    def _candidates(self, name: str) -> Iterator[Bound]:
        stored = self._stored[name]
        covered = any(load.site.number in self._covered for load in self.loads.values() if load.origin.name == name)
        for bound in dict.fromkeys(_proposed(stored, self.loads, self.contract)):
            base = None if stored.initial is None else self.ask.refuses(bound.broken_at_first(stored.initial))
            if base is not None:
                self._at_first[name, bound] = base
            if base is not None or covered:
                yield bound

    def _handed_on(self, name: str, now: Bounds) -> tuple[Bound, ...]:
        return tuple(bound for bound in now[name] if self.ask.refuses_all(self._broken(name, bound, now)) is not None)

    def _broken(self, name: str, bound: Bound, now: Bounds) -> Iterator[SideCondition]:
        """That a store breaks ``bound``, though all that is known of what it is made of is as it should be."""
        for store in self._stored[name].stores:
            own, point = own_instance(store, identity), Point.at(store.site, identity)
            assert own.argument is not None
            holds = bound.of(own.argument, self._stored[name].behind(own))
            conditions = (own.guard, touches(own, self.contract), t.TRUE if holds is None else t.not_(holds))
            known = [
                t.implies(t.and_(before(seen, point), touches(seen, self.contract)), condition)
                for seen in values_in(conditions, self.loads, {"": identity})[""]
                for condition in self._about(seen, now)
            ]
            asked = (*conditions, *(condition for condition in known if condition is not t.TRUE))
            yield (*asked, *self.data.known(asked, self.origins))

    def _reasons(self, shown: Bounds) -> Iterator[SideCondition]:
        yield from self._covered.values()
        for name, bounds in shown.items():
            for bound in bounds:
                yield self._at_first.get((name, bound), ())
                yield from self.ask.refuses_all(self._broken(name, bound, shown)) or ()

    # --------------------------------------------------------------------------------------------- coverage
    def _why_covered(self, load: PreparedSite) -> SideCondition | None:
        """Why whatever ``load`` finds was stored by its own block, if that is so."""
        here = own_instance(load, identity)
        for store in self._stored[load.origin.name].stores:
            lanes = None if store.site.loops else _lanes_at(store, load)
            if lanes is None:
                continue
            there = Instance(store, identity, lanes)
            waits = awaited(store, by=load, own=there, other=identity)
            same = meet(there.here, here.here, self.contract, lanes_matter=True)
            covered = t.and_(before(there, Point.at(load.site, identity)), waits, same)
            conditions = (here.guard, touches(here, self.contract), t.not_(covered))
            why = self.ask.refuses(*conditions, *self.data.known(conditions, self.origins))
            if why is not None:
                return why
        return None


def _lanes_at(store: PreparedSite, load: PreparedSite) -> tuple[Term, ...] | None:
    """Lanes of ``store`` that may touch what ``load`` touches, read off from where both say what they touch."""
    places = tuple(zip(_numbers(store.place), _numbers(load.place), strict=False))
    if type(store.place) is not type(load.place):
        return None
    found = []
    for lane in store.site.lanes:
        for theirs, wanted in places:
            parts = {summand: coefficient for coefficient, summand in t.linear_parts(theirs)[1]}
            if (step := parts.get(lane.variable)) is not None:
                rest = t.sub(wanted, t.sub(theirs, t.scale(step, lane.variable)))
                found.append(t.floordiv(rest, t.const(step)) if step > 0 else t.ZERO)
                break
        else:
            found.append(t.ZERO)
    return tuple(found)


def _numbers(place: Place) -> tuple[Term, ...]:
    return place.coordinates if isinstance(place, IndexFootprint) else (place.offset,)


# ------------------------------------------------------------------------------------------ loads and stores
def _loaded(prepared: PreparedSite) -> Term | None:
    """What a weak load of whole integers gives of a live lane, where it is a value of its own."""
    site, value = prepared.site, prepared.site.value
    if site.op not in _LOADS or not _is_plain(prepared) or value is None:
        return None
    if value.kind is TermKind.ITE and value.args[0] is site.in_mask:
        value = value.args[1]
    own = value.kind is TermKind.APPLY and value.args == variables_of(site) and value.function.scope is Scope.BLOCK
    return value if own and value.sort is Sort.INT else None


def _stored(origin: Origin, sites: Sequence[PreparedSite], contract: Contract) -> StoredArray | None:
    """``origin``, if nothing but weak stores of known integers writes it."""
    stores = element_writers(origin, sites, contract)
    if not stores or origin.kind is not OriginKind.PARAMETER:
        return None
    for each in stores:
        argument = each.site.argument
        if each.site.access is not Access.WRITE or not _is_plain(each):
            return None
        if argument is None or argument.sort is not Sort.INT:
            return None
    counted = tuple(each for each in stores if each.site.loops) or stores
    around = {tuple(loop.name for loop in each.site.loops) for each in counted}
    names = around.pop() if len(around) == 1 else None
    loop = None if names is None or len(names) > 1 else "".join(names)
    return StoredArray(initial_of(origin, sites, contract), stores, counted, loop)


def _is_plain(prepared: PreparedSite) -> bool:
    """A weak access to whole elements of an array."""
    site, footprint = prepared.site, prepared.site.footprint
    weak = site.ordering is MemoryOrdering.WEAK and not site.atomic
    return weak and footprint.element_bytes == prepared.origin.element_bytes and not getattr(footprint, "packed", False)


# -------------------------------------------------------------------------------------------------- candidates
def _proposed(stored: StoredArray, loads: Mapping[str, PreparedSite], contract: Contract) -> Iterator[Bound]:
    """Bounds by the first contents, by what is stored, and by what the kernel compares with; none is taken on trust."""
    limits = list(dict.fromkeys(_limits(stored, contract)))[:_MOST_LIMITS]
    steps = tuple(dict.fromkeys(_steps(stored, loads))) if stored.loop is not None else ()
    for sign in (1, -1):
        ends = [t.scale(sign, limit) for limit in limits]
        starts = ends[:2]
        if stored.initial is not None:
            first = stored.initial.farthest(sign)
            starts, ends = [first, *starts], [first, *(t.maximum(end, first) for end in ends), *ends]
        yield from (Bound(sign, end) for end in ends)
        yield from (Bound(sign, start, sign * step) for step in steps if sign * step > 0 for start in starts)


def _steps(stored: StoredArray, loads: Mapping[str, PreparedSite]) -> Iterator[int]:
    """The numbers other than 0 that are stored on top of something loaded from an array that is read back."""
    for choice in _choices(stored):
        step = t.linear_parts(choice)[0]
        if step and any(part.kind is TermKind.APPLY and part.function.name in loads for part in choice.free):
            yield step


def _limits(stored: StoredArray, contract: Contract) -> Iterator[Term]:
    for choice in _choices(stored):
        if _is_steady(choice):
            yield choice
        for part in sorted(choice.free):
            for data in contract.data if part.kind is TermKind.APPLY else ():
                if subject_of(data) is Subject.LIMITS and data.fact.array == part.function.array:
                    assert data.low is not None
                    assert data.high is not None
                    yield from (t.sub(data.high, t.ONE), data.low)
    for store in stored.stores:
        for term in (store.site.argument, store.guard):
            for part in t.postorder(term) if term is not None else ():
                if part.kind in (TermKind.LE, TermKind.LT) and part.args[0].sort is Sort.INT:
                    steady = [side for side in part.args if _is_steady(side)]
                    yield from (limit for side in steady for limit in (side, t.sub(side, t.ONE)))


def _choices(stored: StoredArray) -> Iterator[Term]:
    """What is stored, without wraps: only to find candidates, so nothing is claimed by it."""
    left = [store.site.argument for store in stored.stores if store.site.argument is not None]
    while left:
        term = t.transform(left.pop(), lambda part: part.args[0] if part.kind is TermKind.WRAP else None)
        if term.kind is TermKind.ITE:
            left += term.args[1:]
        else:
            yield term


def _is_steady(term: Term) -> bool:
    """The same in all executions of one block."""
    return all(part.kind is TermKind.VAR and part.symbol.scope in (Scope.LAUNCH, Scope.BLOCK) for part in term.free)
