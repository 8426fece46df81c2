"""Flags and locks: locations that blocks write numbers to for others to wait for, or change from free to held and back.

Source: Tile IR specification, memory model.  Where all that touches a location is scoped, covers all blocks and has one
size, nothing is torn: a read gives back what the location held at first, or what one write of the launch put there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Final

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.terms import Term, TermKind
from ....frontend.symbolic.summary import Access, Origin
from ....results.codes import TV
from ..footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy, Renaming, awaited, identity, meet
from ..obligations import Obligation
from .instances import (
    Asker,
    Fact,
    Initial,
    Instance,
    LoopHistory,
    Point,
    SideCondition,
    acquires,
    before,
    changers,
    different,
    initial_of,
    own_instance,
    releases,
    values_in,
    variables_of,
)


@dataclass(frozen=True, slots=True)
class Flag:
    """``writers``: all that may write the array; ``initial``: what its elements hold at first.

    ``values``: the constants that are written, if nothing else is.  ``above``: the side conditions for "every value
    that is written is ``initial.high`` or more".  ``turns``: those for "all writes release, and who writes u > high
    has acquired u - 1 or more there before, and waited for it".  ``None`` where that was not shown.
    """

    writers: tuple[PreparedSite, ...]
    initial: Initial
    values: tuple[Term, ...] | None
    above: tuple[SideCondition, ...] | None
    turns: tuple[SideCondition, ...] | None


_PUTTING: Final = ("xchg", "cas", "max", "min", "umax", "umin")


def puts(prepared: PreparedSite) -> bool:
    """It puts its integer operand there, or leaves what it finds.

    Who leaves it goes on with the release sequence that it reads from, as in `changers`.
    """
    written = prepared.site.access is Access.WRITE or prepared.site.mode in _PUTTING
    return written and prepared.site.argument is not None


def find_flag(
    origin: Origin,
    sites: Sequence[PreparedSite],
    watched: Mapping[str, PreparedSite],
    contract: Contract,
    ask: Asker,
    explained: Callable[[Obligation], Obligation],
) -> Flag | None:
    """``origin`` as a flag, if blocks only write it with scopes that cover the launch and its first contents are known.

    ``explained``: a question with what is known of its values.
    """
    writers = changers(origin, sites, contract)
    initial = initial_of(origin, sites, contract)
    if not writers or initial is None:
        return None
    analysis = _Analysis(writers, initial, watched, contract, ask, explained)
    plain = all(map(puts, writers))
    above, turns = (analysis.all(analysis.below()), analysis.turns()) if plain else (None, None)
    return Flag(writers, initial, _constants(writers), above, turns)


def _constants(writers: Sequence[PreparedSite]) -> tuple[Term, ...] | None:
    """What ``writers`` put there, if each writes a constant or nothing, as a compare-and-swap may."""
    written = [each.site.argument for each in writers if puts(each)]
    known = [value for value in written if value is not None and value.kind is TermKind.CONST]
    return tuple(dict.fromkeys(known)) if len(known) == len(writers) else None


@dataclass
class _Analysis:
    writers: tuple[PreparedSite, ...]
    initial: Initial
    watched: Mapping[str, PreparedSite]
    contract: Contract
    ask: Asker
    explained: Callable[[Obligation], Obligation]

    def below(self) -> Iterator[Obligation]:
        for write in self.writers:
            assert write.site.argument is not None
            conditions = write.guard, t.lt(write.site.argument, self.initial.high)
            yield Obligation(TV.SYNCHRONISATION_PROTOCOL, conditions, write.site)

    def turns(self) -> tuple[SideCondition, ...] | None:
        return self.all(self._out_of_turn()) if all(map(releases, self.writers)) else None

    def _out_of_turn(self) -> Iterator[Obligation]:
        for write in self.writers:
            assert write.site.argument is not None
            previous = t.sub(write.site.argument, t.ONE)
            seen = values_in((write.guard, write.site.argument), self.watched, {"": identity})[""]
            point, here = Point.at(write.site, identity), own_instance(write, identity).here
            acquired = (
                t.and_(
                    before(each, point),
                    awaited(each.origin, by=write, own=each, other=identity),
                    meet(each.here, here, self.contract, lanes_matter=True),
                    t.le(previous, each.value),
                )
                for each in seen
                if acquires(each.origin)
            )
            conditions = (write.guard, t.lt(self.initial.high, write.site.argument), t.not_(t.or_(*acquired)))
            yield Obligation(TV.SYNCHRONISATION_PROTOCOL, conditions, write.site)

    def all(self, questions: Iterator[Obligation]) -> tuple[SideCondition, ...] | None:
        """The side conditions if none of ``questions`` can hold."""
        side_conditions: list[SideCondition] = []
        for question in map(self.explained, questions):
            found = self.ask.refuses(*question.conditions)
            if found is None:
                return None
            side_conditions += [*question.side_conditions, *([found] if found else [])]
        return tuple(side_conditions)


# ---------------------------------------------------------------------------------------------------------------- locks
# Locks: locations that blocks change from free to held by compare-and-swap, and back by a release.
#
# Source: Tile IR specification, memory model: an atomic that covers all blocks reads what is immediately before it in
# the order of modifications of its location.
#
# An array is a lock if all that may write it covers all blocks and is either
#
# * a *take*: a compare-and-swap from the constant F (free) to something else, or an exchange for something else, which
# acquires (it succeeded if it gave back F); or * a *give*: a store or exchange of F, or a compare-and-swap to F, that
# releases, and waits for a take of the same block and location that succeeded.  No two gives wait so for one take.
# Which take that is may depend on the case: the one before a loop, or the last one in it.
#
# An exchange that fails puts something that is not F in place of something that is not, which changes nothing below.  A
# compare-and-swap that fails to give the lock back is none of the gives below, and leaves it held.
#
# Then successful takes and gives alternate in the order of modifications of a location, each give behind the take that
# it waits for.  By induction: behind a take nothing is free, so the next change is a give; its take lies before it, and
# all takes but the last have been given back already.  Behind a give, or at first, another give would be one for a take
# that has been given back.  So of two successful takes a give stands between, the first one's, and every take reads
# what the give before it wrote and synchronises with it.  Therefore, with
#
#     held(X, T)  :=  T is a take that took place and gave back F, X waits for it, and every give for T waits for X,
#
# two accesses X and Y of different blocks, held by takes of one location, do not race: one comes before the other.


@dataclass(frozen=True, slots=True)
class Give:
    """A site that gives the lock back, and the take that its own execution waits for where ``chosen`` holds of it."""

    site: PreparedSite
    take: Instance
    chosen: Term = t.TRUE


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
    """The locks of one kernel.

    ``explained``: gives what adds to a question what is known of its values; weak, as that holds this.
    """

    sites: Sequence[PreparedSite]
    watched: Mapping[str, PreparedSite]
    history: LoopHistory
    contract: Contract
    ask: Asker
    explained: Callable[[], Callable[[Obligation], Obligation] | None]
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
        for take in self._seen_before(x):
            lock = self._lock(take.origin)
            if lock is None or not _takes(take.origin, lock.free):
                continue  # who finds the lock free without a change holds nothing
            waits = awaited(take.origin, by=x, own=take, other=identity)
            condition = t.and_(before(take, point), waits, t.eq(take.value, lock.free))
            for held in dict.fromkeys((condition, t.and_(condition, self._given_in_round(x, take, lock)))):
                early = (self._given_early(x, take, held, give) for give in lock.gives)
                given = None if held is t.FALSE else self.ask.refuses_all(early)
                if given is not None:
                    yield HeldLock(take, held, (*lock.side_conditions, *given))
                    break

    def _seen_before(self, x: PreparedSite) -> Sequence[Instance]:
        """What the way to ``x`` depends on, through what loops carry, too."""
        block = {"": identity}
        return values_in((x.guard, *self.history.turns((x.guard,), block)), self.watched, block)[""]

    def _given_in_round(self, x: PreparedSite, take: Instance, lock: Lock) -> Term:
        """In the iteration of ``x`` the lock is given back for ``take``: not in one before, where locks go from hand to
        hand."""
        around = [loop.name for loop in x.site.loops]
        alike = (give for give in lock.gives if [loop.name for loop in give.site.site.loops] == around)
        same = ((give.chosen, t.not_(different(take, give.take))) for give in alike if not give.site.site.lanes)
        return t.or_(*(t.and_(*each) for each in same))

    def _given_early(self, x: PreparedSite, take: Instance, held: Term, give: Give) -> SideCondition:
        """The lock is given back without waiting for ``x``, which the same take holds."""
        copy = PrimedCopy(CopyLevel.INSTANCE, PRIME)
        theirs = Instance(give.site, identity, tuple(map(copy, variables_of(give.site.site))))
        same = t.not_(different(take, Instance(give.take.origin, identity, tuple(map(theirs, give.take.args)))))
        late = t.not_(awaited(x, by=give.site, own=identity, other=theirs))
        return x.guard, held, t.and_(theirs.guard, theirs(give.chosen)), same, late

    # ------------------------------------------------------------------------------------------ the array
    def _lock(self, prepared: PreparedSite) -> Lock | None:
        key = f"{prepared.origin.kind.value} {prepared.origin.name}"
        if key not in self._locks:
            self._locks[key] = self._find_lock(prepared.origin)
        return self._locks[key]

    def _find_lock(self, origin: Origin) -> Lock | None:
        writers = changers(origin, self.sites, self.contract) or ()
        swaps = [each.site.compare for each in writers if each.site.mode == "cas"]
        tried = dict.fromkeys(swaps or (each.site.argument for each in writers))
        return next((lock for free in tried if free is not None and (lock := self._freed_by(writers, free))), None)

    def _freed_by(self, writers: Sequence[PreparedSite], free: Term) -> Lock | None:
        """The lock that is free where it holds the constant ``free``."""
        gives = [each for each in writers if not _takes(each, free)]
        if free.kind is not TermKind.CONST or len(gives) == len(writers):
            return None
        if not all(releases(each) and _frees(each) and each.site.argument is free for each in gives):
            return None
        taken = (each for each in writers if _takes(each, free))
        written = ((each.guard, t.eq(each.site.argument, free)) for each in taken if each.site.argument is not None)
        held = self.ask.refuses_all(written)
        if held is None:
            return None
        side_conditions: list[SideCondition] = [*held]
        matched: list[Give] = []
        for each in gives:
            found = self._taken(each, free)
            if found is None:
                return None
            matched += found[0]
            side_conditions += found[1]
        once = self.ask.refuses_all(self._given_twice(matched))
        return None if once is None else Lock(free, tuple(matched), (*side_conditions, *once))

    def _taken(self, give: PreparedSite, free: Term) -> tuple[tuple[Give, ...], tuple[SideCondition, ...]] | None:
        """The take that ``give`` waits for: the same one always, or one of several."""
        taken = list(self._candidates(give, free))
        for take, condition in taken:
            found = self._always(give, condition)
            if found is not None:
                return (Give(give, take),), found
        found = self._always(give, t.or_(*(condition for _, condition in taken))) if len(taken) > 1 else None
        if found is None:
            return None
        gives: list[Give] = []
        others = t.FALSE
        for take, condition in taken:
            gives.append(Give(give, take, t.and_(condition, t.not_(others))))
            others = t.or_(others, condition)
        return tuple(gives), found

    def _candidates(self, give: PreparedSite, free: Term) -> Iterator[tuple[Instance, Term]]:
        """Takes on which it depends whether ``give`` takes place, with the condition that it waits for the take, which
        succeeded."""
        point, here = Point.at(give.site, identity), own_instance(give, identity)
        for take in self._seen_before(give):
            if _takes(take.origin, free) and take.origin.origin.name == give.origin.name:
                yield (
                    take,
                    t.and_(
                        before(take, point),
                        awaited(take.origin, by=give, own=take, other=identity),
                        meet(take.here, here.here, self.contract, lanes_matter=True),
                        t.eq(take.value, free),
                    ),
                )

    def _always(self, give: PreparedSite, condition: Term) -> tuple[SideCondition, ...] | None:
        """The side conditions for ``condition`` wherever ``give`` takes place."""
        explained = self.explained()
        assert explained is not None
        conditions = own_instance(give, identity).guard, t.not_(condition)
        question = explained(Obligation(TV.SYNCHRONISATION_PROTOCOL, conditions, give.site))
        found = self.ask.refuses_all([question.conditions])
        return None if found is None else (*question.side_conditions, *found)

    def _given_twice(self, gives: Sequence[Give]) -> Iterator[SideCondition]:
        copy = PrimedCopy(CopyLevel.INSTANCE, PRIME)
        for first, second in combinations_with_replacement(gives, 2):
            one = own_instance(first.site, identity)
            other = Instance(second.site, identity, tuple(map(copy, variables_of(second.site.site))))
            take = Instance(second.take.origin, identity, tuple(map(other, second.take.args)))
            this, that = t.and_(one.guard, one(first.chosen)), t.and_(other.guard, other(second.chosen))
            yield this, that, different(one, other), t.not_(different(first.take, take))


def _takes(prepared: PreparedSite, free: Term) -> bool:
    """A compare-and-swap from ``free``, or an exchange, for something else that acquires."""
    site = prepared.site
    swaps = site.compare is free if site.mode == "cas" else site.mode == "xchg"
    if not swaps or site.argument is None or not acquires(prepared):
        return False
    return site.argument is not free and not site.lanes


def _frees(prepared: PreparedSite) -> bool:
    """It puts its integer operand there, perhaps only where it finds a certain other one."""
    return puts(prepared) and (prepared.site.access is Access.WRITE or prepared.site.mode in ("xchg", "cas"))
