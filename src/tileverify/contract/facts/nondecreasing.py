"""``nondecreasing``: values that are sorted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .. import terms as t
from ..fact_kind import FactKind
from ..launch import DataFact
from ..terms import Term
from .base import Fact
from .counting import Count, Counted
from .form import Form, Subject
from .found import HeldValues, Seen
from .loaded import Loaded
from .on_host import Contents, Value, element
from .statements import DataTerm, NumberedFact
from .steered import Group, Offers, Steered


class Nondecreasing(Fact):
    """``nondecreasing(a)``: values do not fall along the last axis: i <= j implies a[..., i] <= a[..., j]."""

    kind = FactKind.NONDECREASING
    form = Form()
    subject = Subject.ORDER

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return f"the values in {fact.array} never fall"

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """i <= j  ->  a[..., i] <= a[..., j]."""
        (array,) = arrays
        for v, w, inside in array.pairs():
            row = t.and_(inside, *(t.eq(i, j) for i, j in zip(v.args[:-1], w.args[:-1], strict=True)))
            for first, second in ((v, w), (w, v)):
                rising = t.le(array.read(first), array.read(second))
                yield t.implies(t.and_(row, t.le(first.args[-1], second.args[-1])), rising)

    def keeps(self, fact: NumberedFact, values: Sequence[int], width: int) -> bool:
        return all(a <= b or not (n + 1) % width for n, (a, b) in enumerate(pairwise(values)))

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        import numpy as np

        array = contents[fact.array]
        if array.ndim == 0 or array.size == 0:
            return None
        falls = np.argwhere(array[..., 1:] < array[..., :-1])
        if not len(falls):
            return None
        *row, before = (int(i) for i in falls[0])
        place = int(np.ravel_multi_index((*row, before + 1), array.shape))
        return f"{element(fact.array, array, place)} follows {array[(*row, before)]}"

    def counted(self, fact: DataFact, facts: Sequence[DataFact], count: int, value: Value) -> Count | None:
        return Count(Counted.NOT_FALLING)

    def observed(self, seen: Seen) -> Iterator[str]:
        if all(each.size > 1 and not (each[..., 1:] < each[..., :-1]).any() for each in seen.contents):
            yield f"{self.kind}({seen.name})"

    def held(self, found: HeldValues) -> Iterator[NumberedFact]:
        said = NumberedFact(self.kind, found.name)
        if self.keeps(said, found.values, found.width):
            yield said

    def candidates(self, use: Steered) -> Offers:
        """Where values of different indices are compared with something: of one alone it says nothing."""
        if use.places > 1:
            yield Group.ORDERS, DataFact(self.kind, use.array)
