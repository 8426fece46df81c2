"""What synchronisation adds to a question: facts about values that atomics gave back, and orders between blocks.

A question "can this obligation break?" speaks of one execution of the launch in which both accesses take place.  What
is added here holds in every such execution in which the obligation *is* broken, so nothing broken is lost:

* values: see `counters` (bounds, tickets) and `sources` (what a scoped load can have seen);
* order: for a race, neither access happens before the other.  See `order` for when it would.

Side questions that a fact rests on are its grounds; they are part of the obligation, so that certificates hold them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from ...frontend.symbolic import terms as t
from ...frontend.symbolic.summary import Access
from ...frontend.symbolic.terms import Term
from ..contract import Contract
from ..copies import OTHER, Copy, Renaming
from ..meeting import Prepared, identity, meet
from ..obligations import Obligation
from ..smt import Decides
from .counters import COVERING, Counter, find_counter
from .ground import Asker, Ground
from .instances import Instance, Point, before, different, entered, values_in, watched


@dataclass(frozen=True, slots=True)
class Side:
    """One block of a question: the accesses that it reaches, and the executions whose values the question mentions."""

    points: tuple[Point, ...]
    seen: tuple[Instance, ...]

    def happened(self, instance: Instance) -> Term:
        return t.or_(*(before(instance, point) for point in self.points))

    def entered(self) -> Iterator[Term]:
        return (fact for seen in self.seen for point in self.points for fact in entered(seen, point))


@dataclass
class Protocols:
    """The synchronisation of one kernel under one contract."""

    sites: Sequence[Prepared]
    contract: Contract
    decider: Decides
    _ask: Asker = field(init=False)
    _watched: dict[str, Prepared] = field(init=False)
    _counters: dict[str, Counter | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ask = Asker(self.decider)
        self._watched = watched(self.sites)

    def explained(self, obligation: Obligation) -> Obligation:
        """``obligation`` with what is known of the values that it mentions."""
        if not self._watched or obligation.blocked is not None:
            return obligation
        facts: list[Term] = []
        grounds: dict[Ground, None] = {}
        sides = self._sides(obligation)
        for fact, reasons in (*self._values(sides), *self._tickets(sides)):
            if fact is not t.TRUE:
                facts.append(fact)
                grounds.update(dict.fromkeys(reasons))
        if not facts:
            return obligation
        facts += [fact for side in sides for fact in side.entered()]
        conditions = (*obligation.conditions, *dict.fromkeys(facts))
        return replace(obligation, conditions=conditions, grounds=tuple(grounds))

    def _sides(self, obligation: Obligation) -> tuple[Side, ...]:
        item = obligation.first or obligation.promise
        assert item is not None
        blocks: dict[str, Renaming] = {"": identity}
        points = {"": [Point.at(item, identity)]}
        if obligation.second is not None:
            copy = Copy(obligation.level, OTHER)
            if obligation.level == "block":
                blocks[OTHER], points[OTHER] = copy, []
            points[OTHER if obligation.level == "block" else ""].append(Point.at(obligation.second, copy))
        found = values_in(obligation.conditions, self._watched, blocks)
        return tuple(Side(tuple(points[mark]), found[mark]) for mark in blocks)

    # -------------------------------------------------------------------------------------------- values
    def _values(self, sides: Sequence[Side]) -> Iterator[tuple[Term, tuple[Ground, ...]]]:
        """(bounds) of additions and of loads of a counter."""
        for side in sides:
            for seen in side.seen:
                counter = self.counter(seen.origin)
                if counter is None or counter.initial is None or counter.total is None:
                    continue
                added = seen.site.access is Access.ATOMIC
                most = t.sub(counter.total, t.ONE) if added else counter.total
                end = t.add(counter.initial.high, t.scale(counter.step, most))
                within = t.and_(t.le(counter.initial.low, seen.value), t.lt(seen.value, end))
                yield t.implies(t.and_(side.happened(seen), self._touches(seen)), within), counter.grounds

    def _tickets(self, sides: Sequence[Side]) -> Iterator[tuple[Term, tuple[Ground, ...]]]:
        """Different additions to one location return different values."""
        drawn = [(side, seen) for side in sides for seen in side.seen if seen.site.access is Access.ATOMIC]
        for (side, one), (other_side, other) in combinations(drawn, 2):
            counter = self.counter(one.origin)
            if counter is None or not counter.distinct or one.origin.origin.name != other.origin.origin.name:
                continue
            apart = t.TRUE if side is not other_side else different(one, other)
            both = t.and_(side.happened(one), other_side.happened(other), apart)
            same = meet(one.here, other.here, self.contract, lanes_matter=True)
            yield t.implies(t.and_(both, same), t.ne(one.value, other.value)), counter.grounds

    def _touches(self, seen: Instance) -> Term:
        """The execution accesses memory: its lane is live."""
        return meet(seen.here, seen.here, self.contract, lanes_matter=True)

    def counter(self, prepared: Prepared) -> Counter | None:
        """The counter that ``prepared`` accesses with a scope that covers the launch, if it is one."""
        origin = prepared.origin
        if prepared.site.scope not in COVERING or prepared.site.footprint.element_bytes != origin.element_bytes:
            return None
        key = f"{origin.kind.value} {origin.name}"
        if key not in self._counters:
            self._counters[key] = find_counter(origin, self.sites, self.contract, self._ask)
        return self._counters[key]
