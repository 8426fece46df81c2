"""What is known of the values that scoped accesses gave back; `counters` and `flags` say why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TypeAlias

from ....contract import terms as t
from ....contract.contract import Contract
from ....contract.terms import Term
from ....frontend.symbolic.summary import Access
from ..footprint_overlap import PreparedSite, meet
from .counters import Counter
from .flags import Flag
from .instances import BlockSide, Fact, Instance, different

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


def least(sides: Sequence[BlockSide], flag_of: FlagOf, contract: Contract) -> Iterator[Fact]:
    """A flag to which only greater numbers are written than it held at first is never below those."""
    for side in sides:
        for seen in side.seen:
            flag = flag_of(seen.origin)
            if flag is not None and flag.above is not None:
                within = t.or_(t.le(flag.initial.low, seen.value), t.le(flag.initial.high, seen.value))
                yield t.implies(t.and_(side.happened(seen), touches(seen, contract)), within), flag.above


def touches(seen: Instance, contract: Contract) -> Term:
    """The execution accesses memory: its lane is live."""
    return meet(seen.here, seen.here, contract, lanes_matter=True)
