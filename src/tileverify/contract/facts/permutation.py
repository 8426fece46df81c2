"""``permutation``: every index of the array, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import terms as t
from ..fact_kind import FactKind
from ..launch import DataFact
from ..terms import Term
from .base import Fact
from .distinct import no_value_twice, repeated_element
from .form import Form, Subject
from .found import HeldValues
from .loaded import Loaded, Promised
from .on_host import Contents, Value, outside_range
from .statements import DataTerm, NumberedFact


class Permutation(Fact):
    """``permutation(a)``: no value occurs twice, and every one is an index of a: 0 <= v < size."""

    kind = FactKind.PERMUTATION
    form = Form()
    subject = Subject.ELEMENTS
    bounded = True

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return f"{fact.array} holds every one of its own indices once"

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """0 <= a[i] < size, and a[i] = a[j]  ->  i = j."""
        (array,) = arrays
        for v in array.values:
            yield t.implies(array.inside(v), t.and_(t.le(t.ZERO, array.read(v)), t.lt(array.read(v), array.size)))
        yield from no_value_twice(data, array)

    def different(self, array: Promised) -> Term | None:
        return array.count

    def promises(self, data: DataTerm, array: Promised) -> Iterator[Term]:
        """n elements have the values 0 and n - 1:  n = 0  or  low <= 0 and n <= high;  of multiples of m:  n <= 1  or
        m = 1."""
        for low, high in array.ranges:
            yield t.or_(t.eq(array.count, t.ZERO), t.and_(t.le(low, t.ZERO), t.le(array.count, high)))
        for step in array.steps:
            yield t.or_(t.le(array.count, t.ONE), t.eq(step, t.ONE))

    def keeps(self, fact: NumberedFact, values: Sequence[int], width: int) -> bool:
        return sorted(values) == list(range(len(values)))

    def limits(self, fact: NumberedFact, count: int) -> tuple[int, int] | None:
        return 0, count

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        array = contents[fact.array]
        return outside_range(fact, array, value) or repeated_element(fact, array, value)

    def held(self, found: HeldValues) -> Iterator[NumberedFact]:
        said = NumberedFact(self.kind, found.name)
        if not found.amounts and self.keeps(said, found.values, found.width):
            yield said
