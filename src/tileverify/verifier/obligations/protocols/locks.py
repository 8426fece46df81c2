"""Locks: locations that blocks change from free to held by compare-and-swap, and back by a release.

Source: Tile IR specification, memory model: an atomic that covers all blocks reads what is immediately before it in the
order of modifications of its location.

An array is a lock if all that may write it covers all blocks and is either

* a *take*: a compare-and-swap that acquires, from the constant F (free) to another constant; or
* a *give*: a store or exchange of F that releases, and whose token waits for a take of the same block and location that
  succeeded (gave back F).  No two gives wait so for one take.

Then successful takes and gives alternate in the order of modifications of a location, each give behind the take that it
waits for.  By induction: behind a take nothing is free, so the next change is a give; its take lies before it, and all
takes but the last have been given back already.  Behind a give, or at first, another give would be one for a take that
has been given back.  So of two successful takes a give stands between, the first one's, and every take reads what the
give before it wrote and synchronises with it.  Therefore, with

    held(X, T)  :=  T took place and gave back F, X waits for it, and every give for T waits for X,

two accesses X and Y of different blocks, held by takes of one location, do not race: one comes before the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.terms import Term, TermKind
from ....frontend.symbolic.summary import Origin
from ..footprint_overlap import PreparedSite, awaited, identity, meet
from ..two_blocks import PRIME, CopyLevel, PrimedCopy, Renaming
from .arrays import Asker, SideCondition, acquires, changers, releases
from .flags import stores
from .instances import Fact, Instance, Point, before, different, own_instance, values_in, variables_of


@dataclass(frozen=True, slots=True)
class Give:
    """A site that gives the lock back, and the take that its own execution waits for."""

    site: PreparedSite
    take: Instance


@dataclass(frozen=True, slots=True)
class Lock:
    free: Term
    gives: tuple[Give, ...]
    side_conditions: tuple[SideCondition, ...]


@dataclass(frozen=True, slots=True)
class HeldLock:
    """``take``, in the access's own terms, and the condition that the access is held by it."""

    take: Instance
    condition: Term
    side_conditions: tuple[SideCondition, ...]

    def of(self, block: Renaming) -> HeldLock:
        """The same in another block."""
        take = Instance(self.take.origin, block, tuple(map(block, self.take.args)))
        return HeldLock(take, block(self.condition), self.side_conditions)


@dataclass
class Locks:
    """The locks of one kernel."""

    sites: Sequence[PreparedSite]
    watched: Mapping[str, PreparedSite]
    contract: Contract
    ask: Asker
    _locks: dict[str, Lock | None] = field(default_factory=dict)
    _held: dict[int, tuple[HeldLock, ...]] = field(default_factory=dict)

    def facts(self, first: PreparedSite, second: PreparedSite, other: Renaming) -> Iterator[Fact]:
        """``first`` and ``second``, of the block that ``other`` names, are not both held by takes of one location."""
        for one in self.held(first):
            for two in (each.of(other) for each in self.held(second)):
                if one.take.origin.origin.name == two.take.origin.origin.name:
                    meets = meet(one.take.here, two.take.here, self.contract, lanes_matter=True)
                    yield (
                        t.not_(t.and_(one.condition, two.condition, meets)),
                        (*one.side_conditions, *two.side_conditions),
                    )

    def held(self, x: PreparedSite) -> tuple[HeldLock, ...]:
        """The takes that may hold ``x``."""
        if x.site.number not in self._held:
            self._held[x.site.number] = tuple(self._find_held(x))
        return self._held[x.site.number]

    def _find_held(self, x: PreparedSite) -> Iterator[HeldLock]:
        point = Point.at(x.site, identity)
        for take in values_in([x.guard], self.watched, {"": identity})[""]:
            lock = self._lock(take.origin)
            if lock is None:
                continue
            waits = awaited(take.origin, by=x, own=take, other=identity)
            condition = t.and_(before(take, point), waits, t.eq(take.value, lock.free))
            if condition is t.FALSE:
                continue
            given = self.ask.refuses_all(self._given_early(x, take, condition, give) for give in lock.gives)
            if given is not None:
                yield HeldLock(take, condition, (*lock.side_conditions, *given))

    def _given_early(self, x: PreparedSite, take: Instance, held: Term, give: Give) -> SideCondition:
        """The lock is given back without waiting for ``x``, which the same take holds."""
        copy = PrimedCopy(CopyLevel.INSTANCE, PRIME)
        theirs = Instance(give.site, identity, tuple(map(copy, variables_of(give.site.site))))
        same = t.not_(different(take, Instance(give.take.origin, identity, tuple(map(theirs, give.take.args)))))
        return x.guard, held, theirs.guard, same, t.not_(awaited(x, by=give.site, own=identity, other=theirs))

    # ------------------------------------------------------------------------------------------ the array
    def _lock(self, prepared: PreparedSite) -> Lock | None:
        key = f"{prepared.origin.kind.value} {prepared.origin.name}"
        if key not in self._locks:
            self._locks[key] = self._find_lock(prepared.origin)
        return self._locks[key]

    def _find_lock(self, origin: Origin) -> Lock | None:
        writers = changers(origin, self.sites, self.contract) or ()
        takes = [each for each in writers if each.site.mode == "cas"]
        gives = [each for each in writers if each.site.mode != "cas"]
        free = takes[0].site.compare if takes else None
        if free is None or free.kind is not TermKind.CONST or not all(_takes(each, free) for each in takes):
            return None
        if not all(releases(each) and stores(each) and each.site.argument is free for each in gives):
            return None
        side_conditions: list[SideCondition] = []
        matched: list[Give] = []
        for each in gives:
            found = self._taken(each, free)
            if found is None:
                return None
            matched.append(found[0])
            side_conditions += found[1]
        once = self.ask.refuses_all(self._given_twice(matched))
        return None if once is None else Lock(free, tuple(matched), (*side_conditions, *once))

    def _taken(self, give: PreparedSite, free: Term) -> tuple[Give, tuple[SideCondition, ...]] | None:
        """The take that ``give`` waits for."""
        point, here = Point.at(give.site, identity), own_instance(give, identity)
        for take in values_in([give.guard], self.watched, {"": identity})[""]:
            if take.site.mode != "cas" or take.origin.origin.name != give.origin.name:
                continue
            taken = t.and_(
                before(take, point),
                awaited(take.origin, by=give, own=take, other=identity),
                meet(take.here, here.here, self.contract, lanes_matter=True),
                t.eq(take.value, free),
            )
            found = self.ask.refuses_all([(here.guard, t.not_(taken))])
            if found is not None:
                return Give(give, take), found
        return None

    def _given_twice(self, gives: Sequence[Give]) -> Iterator[SideCondition]:
        copy = PrimedCopy(CopyLevel.INSTANCE, PRIME)
        for first, second in combinations_with_replacement(gives, 2):
            one = own_instance(first.site, identity)
            other = Instance(second.site, identity, tuple(map(copy, variables_of(second.site.site))))
            take = Instance(second.take.origin, identity, tuple(map(other, second.take.args)))
            yield one.guard, other.guard, different(one, other), t.not_(different(first.take, take))


def _takes(prepared: PreparedSite, free: Term) -> bool:
    """A compare-and-swap from ``free`` to another constant that acquires."""
    site = prepared.site
    if site.compare is not free or site.argument is None or not acquires(prepared):
        return False
    return site.argument.kind is TermKind.CONST and site.argument is not free and not site.lanes
