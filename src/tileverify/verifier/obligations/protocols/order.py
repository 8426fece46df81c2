"""Orders between blocks, and what is known of the values that scoped accesses gave back.

Source: Tile IR specification, memory model.  A release publishes what its token waits for.  An acquire that reads what
a release wrote, or what a chain of atomic read-modify-writes made of it, synchronises with it if the scope of each
includes the other's block; what waits for the acquire's token comes behind all that was published.

Below, X in block A and Y in block B are the accesses of a question.  S is an access of A that releases, and is X or
has a token that waits for X wherever both take place; R is an execution in B that acquires, gave back v, and whose
token Y waits for.  Each rule says what v cannot be if the two are *not* ordered, so its fact may be added to the
question whether they race.  Whether A comes as far as S is never asked: v shows that it did.

`by_count`: S adds to a counter (see `counters`), and by the phases of its additions (see `phases`) it must be among
those before R's reading.  Then it heads a release sequence that R reads from.  So

    v >= high + c * (g * (q(S) + 1) - 1)   [- 2 if R itself adds]   ->   X before Y                     (count)

`by_source`: v is what the location held at first, or what some execution W of some block C wrote.  If every such W
would be one of A's that releases and waits for X, X comes before Y.  An atomic does not read what it writes itself, so
W is not R.  So the two race only if

    low <= v < high   or   some C, W:  v = value(W) and not (C = A and W releases and waits for X)     (source)

`by_turn`: all that writes the array releases, and whoever writes u > high has acquired u - 1 or more from the same
location before, and waited for it.  So from v on, what was acquired leads from write to write, each behind the next.
It goes down by one at most and ends at ``high`` or below, or at what was there at first.  So every value from
``high`` to v is among those that were written.  If nobody but S could write w = value(S) there, and high <= w <= v,
then S is in that chain:

    high <= w <= v   ->   X before Y                                                                     (turn)

`by_bits`: a location begins with 0, and all that writes it is atomic ors, which never take a bit away.  If S sets bits
that no other execution sets, and v has one of them, then S is before R's reading.  It heads a release sequence that R
reads from, as an or is a read-modify-write:

    v & argument(S) != 0   ->   X before Y                                                               (bits)

A third block may hand the order on.  Let W be a release of some block C that R synchronises with, or R itself.  If X is
before W by what C saw, X is before Y.  So the W that `by_source` speaks of must be one that X is not before.  And if R
shows that all blocks that add to a counter have added there, one of each rank has (`counters`):

    v >= high - 1 + c * n   [- c if R itself adds]   ->   for some C, W:  rank(C) = rank(A), X is not before W  (all)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypeAlias

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.terms import Term, TermKind
from ....contract.variables import BID, GRID
from ....frontend.symbolic.summary import Access
from ....results.codes import TV
from ..footprint_overlap import PRIME, CopyLevel, PreparedSite, PrimedCopy, Renaming, awaited, identity, meet
from ..obligations import Obligation, block_axes
from .counters import Counter
from .instances import (
    Asker,
    BlockSide,
    Fact,
    Instance,
    Point,
    SideCondition,
    acquires,
    different,
    own_instance,
    puts_back,
    releases,
    values_in,
    variables_of,
)
from .locks import Flag, puts
from .phases import Phases


@dataclass(frozen=True, slots=True)
class Direction:
    """The race question in one direction: could ``x`` of block A come before ``y`` of block B, by what B saw?

    ``through``: B hands the order on.
    """

    x: PreparedSite
    here: Renaming
    y: PreparedSite
    there: Renaming
    b: BlockSide
    through: bool = False

    def learnt(self, seen: Instance) -> Term:
        """``seen`` took place in B before ``y``, which waits for it."""
        waits = awaited(seen.origin, by=self.y, own=seen, other=self.there)
        return t.and_(waits, self.b.happened(seen))

    def own(self, s: PreparedSite) -> Instance | None:
        """The execution of ``s`` in the iteration of ``x``; ``None`` if that does not name one."""
        around = [loop.name for loop in self.x.site.loops]
        inner = [loop.name for loop in s.site.loops]
        if s.site.lanes or inner != around[: len(inner)]:
            return None
        return own_instance(s, self.here)


@dataclass
class Orders:
    """Derives orders of one kernel.  ``explained``: a question with what is known of its values."""

    contract: Contract
    ask: Asker
    counter_of: Callable[[PreparedSite], Counter | None]
    flag_of: Callable[[PreparedSite], Flag | None]
    phases_of: Callable[[PreparedSite], tuple[Phases, ...]]
    watched: Mapping[str, PreparedSite]
    explained: Callable[[Obligation], Obligation]
    _copies: int = field(default=0, init=False)

    def facts(self, first: PreparedSite, second: PreparedSite, a: BlockSide, b: BlockSide) -> Iterator[Fact]:
        """What can be said if ``first`` and ``second`` are ordered in neither direction."""
        self._copies = 0
        for way in (
            Direction(first, a.rename, second, b.rename, b),
            Direction(second, b.rename, first, a.rename, a),
        ):
            for seen in way.b.seen:
                if acquires(seen.origin) and way.learnt(seen) is not t.FALSE:
                    yield from self._of(way, seen)

    def _of(self, way: Direction, seen: Instance) -> Iterator[Fact]:
        counter = self.counter_of(seen.origin)
        if counter is not None:
            yield from self._by_count(way, seen, counter)
            yield from self._by_all(way, seen, counter)
            return
        flag = self.flag_of(seen.origin)
        if flag is not None:
            turns = flag.turns is not None and flag.above is not None
            found = tuple(self._by_turn(way, seen, flag)) if turns else tuple(self._by_bits(way, seen, flag))
            yield from found or self._by_source(way, seen, flag)

    def _published(self, x: PreparedSite, s: PreparedSite) -> tuple[SideCondition, ...] | None:
        """Where no block makes both accesses, ``s`` says nothing of ``x``."""
        return None if self.ask.refuses(x.guard, s.guard) is not None else published(self.ask, x, s)

    # ------------------------------------------------------------------------------------------ (count)
    def _by_count(self, way: Direction, seen: Instance, counter: Counter) -> Iterator[Fact]:
        if counter.initial is None or not counter.tells(seen.origin):
            return
        others = t.const(2 if counter.adds_by(seen.origin) else 1)
        for add in counter.adds:
            mine = way.own(add)
            itself = add.site.number == way.x.site.number and releases(add)
            given = None if mine is None else () if itself else self._published(way.x, add)
            if mine is not None and given is not None:
                meets = meet(mine.here, seen.here, self.contract, lanes_matter=True)
                known = t.and_(way.learnt(seen), mine.guard, meets)
                for phases in self.phases_of(seen.origin):
                    made = t.mul(phases.size, t.add(mine(phases.of[add.site.number]), t.ONE))
                    end = t.add(counter.initial.high, t.scale(counter.step, t.sub(made, others)))
                    reasons = (*counter.side_conditions, *phases.side_conditions, *given)
                    yield t.implies(known, t.lt(seen.value, end)), reasons

    def _by_all(self, way: Direction, seen: Instance, counter: Counter) -> Iterator[Fact]:
        if way.through or counter.rank is None or counter.initial is None or not counter.tells(seen.origin):
            return
        rank, before = way.here(counter.rank), t.ONE if counter.adds_by(seen.origin) else t.ZERO
        most = t.add(counter.initial.high, t.scale(counter.step, t.sub(counter.blocks, before)))
        known = t.and_(way.learnt(seen), touches(seen, self.contract), t.le(most, t.add(seen.value, t.ONE)))
        inside = t.and_(t.le(t.ZERO, rank), t.lt(rank, counter.blocks))
        some, reasons = [], [*counter.side_conditions]
        for add in filter(releases, counter.adds):
            copy = self._copy()
            third, why = self._not_before(way, add, copy, seen)
            here = own_instance(add, copy)
            meets = meet(here.here, seen.here, self.contract)
            some.append(t.and_(here.guard, *_inside(copy, self.contract), meets, t.eq(copy(counter.rank), rank), third))
            reasons += why
        if len(some) == len(counter.adds) and len(reasons) > len(counter.side_conditions):
            yield t.implies(t.and_(known, inside), t.or_(*some)), tuple(reasons)

    def _not_before(
        self, way: Direction, w: PreparedSite, copy: PrimedCopy, seen: Instance
    ) -> tuple[Term, tuple[SideCondition, ...]]:
        """What holds if ``way.x`` is not before ``w``, a release of the block that ``copy`` gives the terms of.

        Nobody hands on what was handed to him through the array of ``seen``: such a chain would have no end.
        """
        if way.through:
            return t.TRUE, ()
        own = values_in([copy(w.guard)], self.watched, {copy.mark: copy})[copy.mark]
        side = BlockSide(copy, (Point.at(w.site, copy),), own)
        there = replace(way, y=w, there=copy, b=side, through=True)
        others = (each for each in own if each.origin.origin.name != seen.origin.origin.name)
        known = (each for each in others if acquires(each.origin) and there.learnt(each) is not t.FALSE)
        facts = [fact for each in known for fact in self._of(there, each)]
        if facts:
            facts += bounds((side,), self.counter_of, self.contract)
            facts += contents((side,), self.flag_of, self.contract)
        return t.and_(*(fact for fact, _ in facts)), tuple(reason for _, reasons in facts for reason in reasons)

    def _copy(self) -> PrimedCopy:
        """A block of its own."""
        self._copies += 1
        return PrimedCopy(CopyLevel.BLOCK, f"{PRIME}{PRIME}{self._copies}")

    # ------------------------------------------------------------------------------------------- (turn)
    def _by_turn(self, way: Direction, seen: Instance, flag: Flag) -> Iterator[Fact]:
        assert flag.turns is not None
        for write in flag.writers:
            mine = way.own(write)
            if mine is None or mine.argument is None:
                continue
            given = self._published(way.x, write)
            alone = None if given is None else self._by_nobody_else(way.x, write, flag, t.eq)
            if given is not None and alone is not None:
                meets = meet(mine.here, seen.here, self.contract, lanes_matter=True)
                known = t.and_(way.learnt(seen), mine.guard, meets, t.le(flag.initial.high, mine.argument))
                side_conditions = (*flag.turns, *given, *alone)
                yield t.implies(known, t.lt(seen.value, mine.argument)), side_conditions

    def _by_nobody_else(
        self, x: PreparedSite, write: PreparedSite, flag: Flag, alike: Callable[[Term, Term], Term]
    ) -> tuple[SideCondition, ...] | None:
        """No other execution writes ``alike`` to this location, given that ``x`` takes place."""
        side_conditions: list[SideCondition] = []
        mine = own_instance(write, identity)
        for other in flag.writers:
            for level in (CopyLevel.BLOCK, CopyLevel.INSTANCE):
                copy = PrimedCopy(level, PRIME)
                block = copy if level == CopyLevel.BLOCK else identity
                theirs = Instance(other, block, tuple(map(copy, variables_of(other.site))))
                if level == CopyLevel.BLOCK:
                    apart = t.or_(*(t.ne(bid, copy(bid)) for bid in block_axes(self.contract)))
                else:
                    apart = different(mine, theirs)
                assert mine.argument is not None
                assert theirs.argument is not None
                same = (meet(mine.here, theirs.here, self.contract), alike(mine.argument, theirs.argument))
                conditions = (x.guard, mine.guard, theirs.guard, apart, *same)
                question = self.explained(
                    Obligation(TV.SYNCHRONISATION_PROTOCOL, conditions, x.site, other.site, level=level)
                )
                found = self.ask.refuses_all([question.conditions])
                if found is None:
                    return None
                side_conditions += [*question.side_conditions, *found]
        return tuple(side_conditions)

    # ------------------------------------------------------------------------------------------- (bits)
    def _by_bits(self, way: Direction, seen: Instance, flag: Flag) -> Iterator[Fact]:
        none_set = flag.initial.low is t.ZERO and flag.initial.high is t.ONE
        if not none_set or any(each.site.mode != "or" or each.site.argument is None for each in flag.writers):
            return
        for write in flag.writers:
            mine = way.own(write)
            given = None if mine is None else self._published(way.x, write)
            alone = None if given is None else self._by_nobody_else(way.x, write, flag, _share_bits)
            if mine is not None and mine.argument is not None and given is not None and alone is not None:
                meets = meet(mine.here, seen.here, self.contract, lanes_matter=True)
                known = t.and_(way.learnt(seen), mine.guard, meets)
                yield t.implies(known, t.not_(_share_bits(seen.value, mine.argument))), (*given, *alone)
                yield _shifted(seen.value, way.there(way.y.guard), 8 * flag.writers[0].origin.element_bytes), ()

    # ----------------------------------------------------------------------------------------- (source)
    def _by_source(self, way: Direction, seen: Instance, flag: Flag) -> Iterator[Fact]:
        v = seen.value
        sources = [t.and_(t.le(flag.initial.low, v), t.lt(v, flag.initial.high))]
        reasons: list[SideCondition] = []
        for write in flag.writers:
            copy = self._copy()
            theirs = own_instance(write, copy)
            itself = _same(theirs, copy, way.there, seen, self.contract)
            meets = meet(theirs.here, seen.here, self.contract)
            parts = [theirs.guard, *_inside(copy, self.contract), meets, t.not_(itself)]
            if puts(write):
                assert theirs.argument is not None
                parts.append(t.eq(v, theirs.argument))
            if releases(write):
                ours = t.and_(*(t.eq(way.here(bid), copy(bid)) for bid in block_axes(self.contract)))
                third, why = self._not_before(way, write, copy, seen)
                parts += [t.not_(t.and_(ours, awaited(way.x, by=write, own=way.here, other=copy))), third]
                reasons += why
            sources.append(t.and_(*parts))
        known = t.and_(way.learnt(seen), touches(seen, self.contract))
        yield t.implies(known, t.or_(*sources)), tuple(reasons)


def _share_bits(one: Term, other: Term) -> Term:
    """A shift of a constant is a choice among constants, and each of those is a mask of its own."""
    if other.kind is TermKind.ITE:
        condition, then, otherwise = other.args
        return t.ite(condition, _share_bits(one, then), _share_bits(one, otherwise))
    return t.ne(t.bit_and(one, other), t.ZERO)


def _shifted(value: Term, condition: Term, bits: int) -> Term:
    """What the shifts of ``value`` in ``condition`` are: choices among quotients, as `_share_bits` makes of masks."""
    shifts = (part for part in t.postorder(condition) if part.kind is TermKind.SHR and part.args[0] is value)
    return t.and_(
        *(
            t.implies(t.eq(shift.args[1], t.const(k)), t.eq(shift, t.floordiv(value, t.const(1 << k))))
            for shift in shifts
            for k in range(bits)
        )
    )


def published(ask: Asker, x: PreparedSite, s: PreparedSite) -> tuple[SideCondition, ...] | None:
    """``s`` releases, and waits for ``x`` of the same iteration wherever both take place."""
    if not releases(s):
        return None
    waits = awaited(x, by=s, own=identity, other=identity)
    return ask.refuses_all([(x.guard, s.guard, t.not_(waits))])


# --------------------------------------------------------------------------------------------------------------- values
# What is known of the values that scoped accesses gave back; `counters` and `locks` say why.


CounterOf: TypeAlias = Callable[[PreparedSite], Counter | None]
FlagOf: TypeAlias = Callable[[PreparedSite], Flag | None]


def bounds(sides: Sequence[BlockSide], counter_of: CounterOf, contract: Contract) -> Iterator[Fact]:
    """(bounds) of additions and of loads of a counter."""
    for side in sides:
        for seen in side.seen:
            counter = counter_of(seen.origin)
            if counter is None or counter.initial is None or counter.total is None or not counter.tells(seen.origin):
                continue
            most = t.sub(counter.total, t.ONE) if counter.adds_by(seen.origin) else counter.total
            end = t.add(counter.initial.high, t.scale(counter.step, most))
            within = t.and_(t.le(counter.initial.low, seen.value), t.lt(seen.value, end))
            yield t.implies(t.and_(side.happened(seen), touches(seen, contract)), within), counter.side_conditions


def tickets(sides: Sequence[BlockSide], counter_of: CounterOf, contract: Contract) -> Iterator[Fact]:
    """Different additions to one location return different values."""
    drawn = [(side, seen) for side in sides for seen in side.seen if seen.site.access is Access.ATOMIC]
    for (side, one), (other_side, other) in combinations(drawn, 2):
        counter = counter_of(one.origin)
        if counter is None or not _told_apart(counter) or one.origin.origin.name != other.origin.origin.name:
            continue
        if not (counter.adds_by(one.origin) and counter.adds_by(other.origin)):
            continue
        apart = t.TRUE if side is not other_side else different(one, other)
        both = t.and_(side.happened(one), other_side.happened(other), apart)
        same = meet(one.here, other.here, contract, lanes_matter=True)
        yield t.implies(t.and_(both, same), _apart(counter, one, other)), counter.side_conditions


def _told_apart(counter: Counter) -> bool:
    return counter.distinct if counter.even else counter.initial is not None and counter.total is not None


def _apart(counter: Counter, one: Instance, other: Instance) -> Term:
    """What two additions gave back; where nothing wraps, as far apart as the first of them added."""
    if counter.initial is None or counter.total is None:
        return t.ne(one.value, other.value)
    assert one.argument is not None
    assert other.argument is not None
    first, second = t.add(one.value, one.argument), t.add(other.value, other.argument)
    return t.or_(t.le(first, other.value), t.le(second, one.value))


def exchanges(sides: Sequence[BlockSide], flag_of: FlagOf, contract: Contract) -> Iterator[Fact]:
    """What two exchanges, or compare-and-swaps, of one location cannot both find.

    A location holds what it held at first until it is written, and the write that comes first finds that.  So

    * if F is never written, two of those that replace F do not both find it: the first one ends it;
    * if neither of two found what may have been there at first, a third access wrote before both.

    A swap of F for itself is none of them: any number of those find F.
    """
    swaps = [(side, seen) for side in sides for seen in side.seen if seen.site.mode in ("cas", "xchg")]
    tried = [(side, seen) for side, seen in swaps if not puts_back(seen.origin)]
    for number, ((side, one), (other_side, other)) in enumerate(combinations(tried, 2)):
        flag = flag_of(one.origin)
        if flag is None or flag.values is None or one.origin.origin.name != other.origin.origin.name:
            continue
        apart = t.TRUE if side is not other_side else different(one, other)
        meets = meet(one.here, other.here, contract, lanes_matter=True)
        both = t.and_(side.happened(one), other_side.happened(other), apart, meets)
        if both is not t.FALSE:
            yield t.implies(both, t.not_(_both_find_what_is_never_written(one, other, flag.values))), ()
            if not (one.site.loops or other.site.loops):
                yield (
                    t.implies(both, _first_or_behind_a_third((side, one), (other_side, other), flag, number, contract)),
                    (),
                )


def _both_find_what_is_never_written(one: Instance, other: Instance, written: Sequence[Term]) -> Term:
    compared = {each.site.compare for each in (one, other) if each.site.mode == "cas"}
    if not compared:
        return t.not_(t.or_(*(t.eq(each.value, value) for each in (one, other) for value in written)))
    free = compared.pop()
    if compared or free is None or free.kind is not TermKind.CONST or free in written:
        return t.FALSE
    return t.and_(t.eq(one.value, free), t.eq(other.value, free))


def _first_or_behind_a_third(
    one: tuple[BlockSide, Instance], other: tuple[BlockSide, Instance], flag: Flag, number: int, contract: Contract
) -> Term:
    copy = PrimedCopy(CopyLevel.BLOCK, f"{PRIME}{PRIME}{PRIME}{number}")
    found_first = [
        t.and_(t.le(flag.initial.low, seen.value), t.lt(seen.value, flag.initial.high)) for _, seen in (one, other)
    ]
    thirds = []
    for write in flag.writers:
        third = own_instance(write, copy)
        others = (t.not_(_same(third, copy, side.rename, seen, contract)) for side, seen in (one, other))
        meets = meet(third.here, one[1].here, contract)
        thirds.append(t.and_(third.guard, *_inside(copy, contract), meets, *others))
    return t.or_(*found_first, *thirds)


def _same(write: Instance, block: Renaming, other_block: Renaming, seen: Instance, contract: Contract) -> Term:
    """One and the same execution."""
    if write.site.number != seen.site.number:
        return t.FALSE
    same_block = (t.eq(block(bid), other_block(bid)) for bid in block_axes(contract))
    return t.and_(*same_block, t.not_(different(write, seen)))


def _inside(block: Renaming, contract: Contract) -> Iterator[Term]:
    """The block is one of the grid."""
    return (t.lt(block(bid), contract.values.get(grid, grid)) for bid, grid in zip(BID, GRID, strict=True))


def contents(sides: Sequence[BlockSide], flag_of: FlagOf, contract: Contract) -> Iterator[Fact]:
    """A flag holds what it held at first or one of the constants that are written; or numbers that are not below the
    first ones, if all that are written are greater."""
    for side in sides:
        for seen in side.seen:
            flag, v = flag_of(seen.origin), seen.value
            if flag is None or (flag.values is None and flag.above is None):
                continue
            low, high = t.le(flag.initial.low, v), t.le(flag.initial.high, v)
            written = None if flag.values is None else [t.eq(v, each) for each in flag.values]
            within = t.or_(low, high) if written is None else t.or_(t.and_(low, t.not_(high)), *written)
            reasons = flag.above or () if written is None else ()
            yield t.implies(t.and_(side.happened(seen), touches(seen, contract)), within), reasons


def touches(seen: Instance, contract: Contract) -> Term:
    """The execution accesses memory: its lane is live."""
    return meet(seen.here, seen.here, contract, lanes_matter=True)
