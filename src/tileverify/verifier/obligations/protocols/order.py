"""Orders between blocks, and what is known of the values that scoped accesses gave back.

Source: Tile IR specification, memory model.  A release publishes what its token waits for.  An acquire that reads what
a release wrote, or what a chain of atomic read-modify-writes made of it, synchronises with it if the scope of each
includes the other's block; what waits for the acquire's token comes behind all that was published.

Below, X in block A and Y in block B are the accesses of a question.  S is an access of A that releases, and is X or
has a token that waits for X wherever both take place; R is an execution in B that acquires, gave back v, and whose
token Y waits for.  Each rule says what v cannot be if the two are *not* ordered, so its fact may be added to the
question whether they race.  Whether A comes as far as S is never asked: v shows that it did.

`by_count`: S adds to a counter (see `counters`) to which a block adds once per location and at most K blocks add.  Of
the additions before R's reading at most K - 1 (K - 2 if R itself adds) are not A's.  If A's is among them, it heads a
release sequence that R reads from.  So

    v > v0 + c * (K - 1)   [K - 2]   ->   X before Y                                                    (count)

`by_source`: v is what the location held at first, or what some execution W of some block C wrote.  If every such W
would be one of A's that releases and waits for X, X comes before Y.  So the two race only if

    low <= v < high   or   some C, W:  v = value(W) and not (C = A and W releases and waits for X)     (source)

`by_turn`: all that writes the array releases, and whoever writes u > high has acquired u - 1 from the same location
before, and waited for it.  So from v down to ``high`` every value was written, each behind the acquire of the one
below it.  If nobody but S could write w = value(S) there, and high <= w <= v, then S is in that chain:

    high <= w <= v   ->   X before Y                                                                     (turn)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.terms import Term
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
    SideCondition,
    acquires,
    different,
    own_instance,
    releases,
    variables_of,
)
from .locks import Flag, stores


@dataclass(frozen=True, slots=True)
class Direction:
    """The race question in one direction: could ``x`` of block A come before ``y`` of block B, by what B saw?"""

    x: PreparedSite
    here: Renaming
    y: PreparedSite
    there: Renaming
    b: BlockSide

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
            return
        flag = self.flag_of(seen.origin)
        if flag is not None:
            turns = flag.turns is not None and flag.above is not None
            found = tuple(self._by_turn(way, seen, flag)) if turns else ()
            yield from found or self._by_source(way, seen, flag)

    # ------------------------------------------------------------------------------------------ (count)
    def _by_count(self, way: Direction, seen: Instance, counter: Counter) -> Iterator[Fact]:
        if not counter.once or counter.initial is None or not counter.tells(seen.origin):
            return
        others = t.sub(counter.blocks, t.const(2 if counter.adds_by(seen.origin) else 1))
        end = t.add(counter.initial.high, t.scale(counter.step, others))
        for add in counter.adds:
            mine = way.own(add)
            itself = add.site.number == way.x.site.number and releases(add)
            given = None if mine is None else () if itself else published(self.ask, way.x, add)
            if mine is not None and given is not None:
                meets = meet(mine.here, seen.here, self.contract, lanes_matter=True)
                known = t.and_(way.learnt(seen), mine.guard, meets)
                yield t.implies(known, t.lt(seen.value, end)), (*counter.side_conditions, *given)

    # ------------------------------------------------------------------------------------------- (turn)
    def _by_turn(self, way: Direction, seen: Instance, flag: Flag) -> Iterator[Fact]:
        assert flag.turns is not None
        for write in flag.writers:
            mine = way.own(write)
            if mine is None or mine.argument is None:
                continue
            given = published(self.ask, way.x, write)
            alone = None if given is None else self._written_by_nobody_else(way.x, write, flag)
            if given is not None and alone is not None:
                meets = meet(mine.here, seen.here, self.contract, lanes_matter=True)
                known = t.and_(way.learnt(seen), mine.guard, meets, t.le(flag.initial.high, mine.argument))
                side_conditions = (*flag.turns, *given, *alone)
                yield t.implies(known, t.lt(seen.value, mine.argument)), side_conditions

    def _written_by_nobody_else(
        self, x: PreparedSite, write: PreparedSite, flag: Flag
    ) -> tuple[SideCondition, ...] | None:
        """No other execution writes this value to this location, given that ``x`` takes place."""
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
                same = (meet(mine.here, theirs.here, self.contract), t.eq(mine.argument, theirs.argument))
                conditions = (x.guard, mine.guard, theirs.guard, apart, *same)
                question = self.explained(
                    Obligation(TV.SYNCHRONISATION_PROTOCOL, conditions, x.site, other.site, level=level)
                )
                found = self.ask.refuses_all([question.conditions])
                if found is None:
                    return None
                side_conditions += [*question.side_conditions, *found]
        return tuple(side_conditions)

    # ----------------------------------------------------------------------------------------- (source)
    def _by_source(self, way: Direction, seen: Instance, flag: Flag) -> Iterator[Fact]:
        v = seen.value
        sources = [t.and_(t.le(flag.initial.low, v), t.lt(v, flag.initial.high))]
        for write in flag.writers:
            self._copies += 1
            copy = PrimedCopy(CopyLevel.BLOCK, f"{PRIME}{PRIME}{self._copies}")
            theirs = own_instance(write, copy)
            inside = (
                t.lt(copy(bid), self.contract.values.get(grid, grid)) for bid, grid in zip(BID, GRID, strict=True)
            )
            parts = [theirs.guard, *inside, meet(theirs.here, seen.here, self.contract)]
            if stores(write) or (write.site.mode == "cas" and theirs.argument is not None):
                assert theirs.argument is not None
                parts.append(t.eq(v, theirs.argument))
            if releases(write):
                ours = t.and_(*(t.eq(way.here(bid), copy(bid)) for bid in block_axes(self.contract)))
                parts.append(t.not_(t.and_(ours, awaited(way.x, by=write, own=way.here, other=copy))))
            sources.append(t.and_(*parts))
        yield t.implies(t.and_(way.learnt(seen), touches(seen, self.contract)), t.or_(*sources)), ()


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
        if counter is None or not counter.distinct or one.origin.origin.name != other.origin.origin.name:
            continue
        if not (counter.adds_by(one.origin) and counter.adds_by(other.origin)):
            continue
        apart = t.TRUE if side is not other_side else different(one, other)
        both = t.and_(side.happened(one), other_side.happened(other), apart)
        same = meet(one.here, other.here, contract, lanes_matter=True)
        yield t.implies(t.and_(both, same), t.ne(one.value, other.value)), counter.side_conditions


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
