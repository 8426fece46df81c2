"""``shares``: the parts of a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from .. import terms as t
from ..fact_kind import FactKind
from ..launch import DataFact
from ..terms import Term, TermKind
from .base import Fact
from .form import Form, Subject
from .found import HeldValues, Seen
from .loaded import Loaded, Promised
from .on_host import Contents, Value, amount, element
from .sampling import DRAWN, Layouts, Sampled, cuts
from .statements import DataTerm, NumberedFact
from .steered import Group, Offers, Steered


class Shares(Fact):
    """``shares(a, n)``: no value is negative, and all together are at most n: 0 <= a[i], a[0] + a[1] + ... <= n.

    Shares of n are shares of everything above n.
    """

    kind = FactKind.SHARES
    form = Form(("amount",))
    subject = Subject.SUM
    bounded = True

    def words(self, fact: DataFact, low: str, high: str, amount: str, width: str) -> str:
        return f"no value in {fact.array} is negative, and all together are at most {amount}"

    def instances(self, data: DataTerm, *arrays: Loaded) -> Iterator[Term]:
        """0 <= a[i] <= n;  i != j  ->  a[i] + a[j] <= n;  a[0] + a[1] + ... <= n, also with another a[i]."""
        (array,) = arrays
        assert data.amount is not None
        for v in array.values:
            value = array.read(v)
            yield t.implies(array.inside(v), t.and_(t.le(t.ZERO, value), t.le(value, data.amount)))
        if not array.injective:
            return
        for v, w, inside in array.pairs():
            differ = t.or_(*(t.ne(i, j) for i, j in zip(v.args, w.args, strict=True)))
            yield t.implies(t.and_(inside, differ), t.le(t.add(array.read(v), array.read(w)), data.amount))
        fixed = [v for v in array.values if all(i.kind is TermKind.CONST for i in v.args)]
        if len(fixed) < 2:
            return
        together, known = t.add(*map(array.read, fixed)), t.and_(*map(array.inside, fixed))
        yield t.implies(known, t.le(together, data.amount))
        for v in array.values:
            if v not in fixed:
                other = t.and_(array.inside(v), *(t.or_(*map(t.ne, v.args, w.args)) for w in fixed))
                yield t.implies(t.and_(known, other), t.le(t.add(together, array.read(v)), data.amount))

    def promises(self, data: DataTerm, array: Promised) -> Iterator[Term]:
        """0 <= s;  of n values from l on:  n * max(l, 0) <= s;  of values that differ:  n * (n - 1) <= 2 * s."""
        assert data.amount is not None
        yield t.le(t.ZERO, data.amount)
        if not array.injective:
            return
        for low, _ in array.ranges:
            yield t.le(t.mul(array.count, t.maximum(low, t.ZERO)), data.amount)
        if any(each.low is None for each in array.of(Subject.ELEMENTS)):
            yield t.le(t.mul(array.count, t.sub(array.count, t.ONE)), t.scale(2, data.amount))

    def follows(self, wanted: NumberedFact, seen: NumberedFact) -> bool:
        return seen.kind == self.kind and (seen.amount or 0) <= (wanted.amount or 0)

    def allows(self, fact: NumberedFact, value: int) -> bool:
        return value >= 0

    def keeps(self, fact: NumberedFact, values: Sequence[int], width: int) -> bool:
        assert fact.amount is not None
        return sum(values) <= fact.amount

    def limits(self, fact: NumberedFact, count: int) -> tuple[int, int] | None:
        assert fact.amount is not None
        return 0, fact.amount + 1

    def layouts(self, sampled: Sampled) -> Layouts:
        """Values that come to no more than ``total``: equal, growing, one each, most for one, none for one, drawn.

        That one has it all, or none has any, is not among them unless it is drawn: it is what no one means by shares.
        """
        assert sampled.total is not None
        count, step = len(sampled.places), sampled.step
        if not count:
            yield []
            return
        units = sampled.total // step
        yield [units // count * step] * count
        yield [step * (2 * units * (i + 1) // (count * (count + 1))) for i in range(count)]
        yield [step * (2 * units * (count - i) // (count * (count + 1))) for i in range(count)]
        yield [step * min(1, units // count)] * count
        yield [units // (2 * count) * step] * count
        for one in dict.fromkeys((0, count // 2, count - 1)):
            yield [step * (units - count + 1 if i == one else 1) for i in range(count)] if units >= count else []
            yield [0 if i == one else units // max(count - 1, 1) * step for i in range(count)]
        random = Random(count)
        for _ in range(DRAWN):
            yield [step * part for part in cuts(random, units, count)]

    def violation(self, fact: DataFact, contents: Contents, value: Value) -> str | None:
        import numpy as np

        array = contents[fact.array]
        number, flat = amount(fact, value), array.reshape(-1)
        negative = np.flatnonzero(flat < 0)
        if len(negative):
            return f"{element(fact.array, array, int(negative[0]))} is negative"
        total = sum(map(int, flat))
        return f"the sum of {fact.array} is {total}, more than {number}" if total > number else None

    def observed(self, seen: Seen) -> Iterator[str]:
        if not seen.negative and all(each.ndim == 1 and each.size > 1 for each in seen.contents):
            yield f"{self.kind}({seen.name}, {max(int(each.astype(object).sum()) for each in seen.contents)})"

    def held(self, found: HeldValues) -> Iterator[NumberedFact]:
        if min(found.values) >= 0:
            total = sum(found.values)
            yield NumberedFact(self.kind, found.name, amount=2 * total if found.amounts else total)

    def candidates(self, use: Steered) -> Offers:
        """Where a kernel adds values at indices that are numbers."""
        if use.fixed > 1:
            yield from ((Group.ORDERS, DataFact(self.kind, use.array, amount=size)) for size in use.sizes)
