"""``multiples``: values that count whole tiles or vectors."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from .. import terms as t
from ..fact_kind import FactKind
from ..launch import DataFact, Number
from ..terms import Term
from .base import Fact
from .form import Form, Subject
from .found import HeldValues, Seen
from .loaded import Loaded
from .on_host import Contents, Value, amount, element
from .statements import DataTerm, NumberedFact
from .steered import Group, Offers, Steered


class Multiples(Fact):
    """``multiples(a, n)``: every value v has v % n = 0, and n is at least 1.

    Multiples of n are multiples of every divisor of n.
    """

    kind = FactKind.MULTIPLES
    form = Form(("amount",))
    subject = Subject.STEPS
    least_amount = 1

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return f"every value in {fact.array} is a multiple of {amount}"

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """a[i] % n = 0."""
        (array,) = arrays
        assert data.amount is not None
        for v in array.values:
            yield t.implies(array.inside(v), t.eq(t.floormod(array.read(v), data.amount), t.ZERO))

    def follows(self, wanted: NumberedFact, seen: NumberedFact) -> bool:
        least, known = wanted.amount or 0, seen.amount or 0
        return seen.kind == self.kind and least > 0 and known % least == 0

    def allows(self, fact: NumberedFact, value: int) -> bool:
        assert fact.amount is not None
        return fact.amount >= 1 and value % fact.amount == 0

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        import numpy as np

        array = contents[fact.array]
        number, flat = amount(fact, value), array.reshape(-1)
        if number < 1:
            return f"the number {number} is below 1"
        wrong = np.flatnonzero(flat.astype(object) % number)
        return f"{element(fact.array, array, int(wrong[0]))} is no multiple of {number}" if len(wrong) else None

    def observed(self, seen: Seen) -> Iterator[str]:
        step = gcd(*map(int, seen.values))
        if step > 1:
            yield f"{self.kind}({seen.name}, {step})"

    def held(self, found: HeldValues) -> Iterator[NumberedFact]:
        """Of amounts only powers of two: whole tiles."""
        step = gcd(*found.values)
        yield NumberedFact(self.kind, found.name, amount=max(step & -step if found.amounts else step, 1))

    def candidates(self, use: Steered) -> Offers:
        yield from ((Group.MULTIPLES, DataFact(self.kind, use.array, amount=Number(tile))) for tile in use.tiles)
