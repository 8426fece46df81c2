"""``range``: where every value lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .. import terms as t
from ..fact_kind import FactKind
from ..launch import DataFact, Expression, Number
from ..terms import Term, TermKind
from .base import Fact
from .counting import Count, Counted
from .distinct import excused
from .form import Form, Subject
from .found import HeldValues, Seen
from .loaded import Loaded
from .on_host import Contents, Value, bounds, outside_range
from .statements import DataTerm, NumberedFact
from .steered import Group, Offers, Steered

MOST_BOUNDS: Final = 24
"""Upper ends that are tried for one array."""


class Range(Fact):
    """``range(a, low, high)``: every value v has low <= v < high, or is one that ``unless`` excuses.

    A range implies every wider one that excuses as much.
    """

    kind = FactKind.RANGE
    form = Form(("low", "high"), unless=True)
    subject = Subject.LIMITS
    bounded = True

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return f"every value in {fact.array} lies from {low} to below {high}"

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """low <= a[i] < high, or a[i] is excused."""
        (array,) = arrays
        assert data.low is not None
        assert data.high is not None
        for v in array.values:
            value = array.read(v)
            inside = t.and_(t.le(data.low, value), t.lt(value, data.high))
            yield t.implies(array.inside(v), t.or_(inside, excused(data, value)))

    def follows(self, wanted: NumberedFact, seen: NumberedFact) -> bool:
        return seen.kind == self.kind and seen.unless <= wanted.unless and seen.lies_in(wanted)

    def holds_in(self, outer: DataTerm, inner: DataTerm) -> bool:
        """low <= low' and high' <= high  and  low' <= a[i] < high'   imply   low <= a[i] < high"""
        if inner.unless:
            return False
        ends = (inner.low, inner.high, outer.low, outer.high)
        low, high, least, most = (None if end is None or end.kind is not TermKind.CONST else end.value for end in ends)
        if low is None or high is None or least is None or most is None:
            return False
        return least <= low and high <= most

    def allows(self, fact: NumberedFact, value: int) -> bool:
        return fact.within(value) or value in fact.unless

    def limits(self, fact: NumberedFact, count: int) -> tuple[int, int] | None:
        assert fact.low is not None
        assert fact.high is not None
        return fact.low, fact.high

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        return outside_range(fact, contents[fact.array], value)

    def counted(self, fact: DataFact, facts: Sequence[DataFact], count: int, value: Value) -> Count | None:
        return Count(Counted.IN_RANGE, *bounds(fact, count, value))

    def observed(self, seen: Seen) -> Iterator[str]:
        """One negative value among others is taken for one that is excused."""
        positive = [int(v) for v in seen.values if v >= 0]
        if len(seen.negative) == 1 and positive:
            yield f"{self.kind}({seen.name}, {min(positive)}, {max(positive) + 1}, unless={seen.negative[0]})"
        else:
            yield f"{self.kind}({seen.name}, {int(min(seen.values))}, {int(max(seen.values)) + 1})"

    def held(self, found: HeldValues) -> Iterator[NumberedFact]:
        low, high = min(found.values), max(found.values) + 1
        if found.amounts:  # none, or twice as much
            low, high = min(1, low), max(2 * max(found.values), 0) + 1
        yield NumberedFact(self.kind, found.name, low=low, high=high)

    def candidates(self, use: Steered) -> Offers:
        """Up to natural ends, up to others, and from where whole tiles are full."""
        yield from ((Group.LIMITS, fact) for fact in self._up_to(use.ends, use))
        yield from ((Group.OTHERS, fact) for fact in self._up_to(use.others, use))
        for start in use.starts:
            for end in (*use.ends[:2], *use.others[:2]):
                yield Group.OTHERS, DataFact(self.kind, use.array, Number(start), end)

    def _up_to(self, ends: Sequence[Expression], use: Steered) -> Iterator[DataFact]:
        for end in ends[:MOST_BOUNDS]:
            yield from (DataFact(self.kind, use.array, Number(0), end, unless=(x,)) for x in use.excused)
            yield DataFact(self.kind, use.array, Number(0), end)
