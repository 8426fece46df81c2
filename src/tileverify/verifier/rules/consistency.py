"""What a launch of the contract takes beyond its facts: contents that keep the data facts, layouts without overlaps.

The facts of a contract speak of launch-known quantities.  Data facts and the promise of a named stride are used where a
question mentions elements, so that a contract whose promises nobody can keep would prove everything in silence.  The
terms below follow from such promises for every launch (a is an array of n elements, [l, h) the range of its values):

    a first element:        n = 0  or  there is a value that keeps every fact about single elements
    values that differ:     n <= h - l,  of multiples of m:  n <= (h - l - 1) // m + 1
    permutations:           n = 0  or  l <= 0 and n <= h
    shares of at most s:    0 <= s,  n * max(l, 0) <= s,  of values that differ:  n * (n - 1) <= 2 * s
    disjoint rows:          n = 0  or  as many values as rows
    segments in [l, h):     k segments, none shorter than m:  k <= 0  or  m <= 0  or  k * m <= h - l
    elements with addresses of their own, strides s and t of two dimensions:
                            i * s = j * t  ->  not (i < m and j < n)        for small i and j
                            s + t = u      ->  one of the three dimensions has one element

Each is necessary, so that what contradicts them has no launch; what they let pass may still have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Final

from ... import terms as t
from ...contract.as_terms import INT_BITS, Contract, DataTerm, array_layout
from ...frontend.symbolic.summary import Origin, OriginKind
from ...terms import Function, Scope, Term
from .fact_instances import data_facts

_STEPS: Final = ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2))
"""Steps along two dimensions that are tried for addresses that meet, without common factors."""


def promises(contract: Contract) -> tuple[Term, ...]:
    """What must hold of a launch, or nobody can keep the contract's promises."""
    found = (*_first_elements(contract), *_counted(contract), *_apart(contract))
    return tuple(dict.fromkeys(term for term in found if term is not t.TRUE))


# ------------------------------------------------------------------------------------------- contents
def _first_elements(contract: Contract) -> Iterator[Term]:
    """The facts on one element of each array that has any."""
    origins: dict[str, Origin] = {}
    first: list[Term] = []
    for name in elements(contract):
        shape = _shape(contract, name)
        origins[name] = Origin(OriginKind.PARAMETER, name, 1, tuple(shape))
        half = 1 << (INT_BITS[contract.arrays[name].dtype] - 1)
        function = Function(name, Scope.LAUNCH, -half, half - 1, array=name)
        first.append(t.apply(function, *(t.ZERO for _ in shape)))
    yield from data_facts(first, contract, origins)


def elements(contract: Contract) -> dict[str, Term]:
    """How many elements each array has that a fact speaks of."""
    named = dict.fromkeys(name for data in contract.data for name in _arrays(data) if _whole(contract, name))
    return {name: t.product(_shape(contract, name)) for name in named}


def _whole(contract: Contract, name: str) -> bool:
    """Facts speak of integers; whoever makes a contract without a spec may not know."""
    return contract.arrays[name].dtype in INT_BITS


def _arrays(data: DataTerm) -> tuple[str, ...]:
    return (data.fact.array,) if data.fact.other is None else (data.fact.array, data.fact.other)


def _shape(contract: Contract, name: str) -> list[Term]:
    return [t.substitute(size, contract.values) for size in array_layout(contract.arrays[name])[0]]


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts about one array that name no values which they excuse; ``count`` elements."""

    contract: Contract
    name: str
    facts: Sequence[DataTerm]

    def of(self, *kinds: str) -> Iterator[DataTerm]:
        return (data for data in self.facts if data.fact.kind in kinds and not data.unless)

    @property
    def count(self) -> Term:
        return t.product(_shape(self.contract, self.name))

    @property
    def ranges(self) -> Iterator[tuple[Term, Term]]:
        """Where values lie, by facts and by their type."""
        for data in self.of("range"):
            assert data.low is not None
            assert data.high is not None
            yield data.low, data.high
        bits = INT_BITS[self.contract.arrays[self.name].dtype]
        unsigned = self.contract.arrays[self.name].dtype.startswith("u")
        yield (t.ZERO, t.const(1 << bits)) if unsigned else (t.const(-(1 << (bits - 1))), t.const(1 << (bits - 1)))


def _counted(contract: Contract) -> Iterator[Term]:
    for name in elements(contract):
        facts = _Facts(contract, name, [data for data in contract.data if data.fact.array == name])
        yield from _distinct(facts)
        yield from _shared(facts)
        yield from _permuted(facts)
        yield from _in_segments(facts)


def _distinct(facts: _Facts) -> Iterator[Term]:
    """As many values as elements, or as rows."""
    if facts.name not in facts.contract.injective:
        return
    sized = [(facts.count, data) for data in facts.of("injective", "permutation")]
    shape = _shape(facts.contract, facts.name)
    sized += [(shape[0], data) for data in facts.of("disjoint_rows")]
    for needed, data in sized:
        for low, high in facts.ranges:
            # A restricted fact counts where all values lie in what it speaks of.
            spoken = (
                t.TRUE if data.low is None or data.high is None else t.and_(t.le(data.low, low), t.le(high, data.high))
            )
            room = t.maximum(t.sub(high, low), t.ZERO)
            excused = t.or_(t.eq(facts.count, t.ZERO), t.not_(spoken))
            yield t.or_(excused, t.le(needed, room))
            for multiple in facts.of("multiples"):
                assert multiple.amount is not None
                steps = t.floordiv(t.sub(t.sub(high, low), t.ONE), multiple.amount)
                yield t.or_(excused, t.le(needed, t.add(steps, t.ONE)))


def _shared(facts: _Facts) -> Iterator[Term]:
    for data in facts.of("shares"):
        assert data.amount is not None
        yield t.le(t.ZERO, data.amount)
        if facts.name not in facts.contract.injective:
            continue
        for low, _ in facts.ranges:
            yield t.le(t.mul(facts.count, t.maximum(low, t.ZERO)), data.amount)
        if any(each.low is None for each in facts.of("injective", "permutation")):
            yield t.le(t.mul(facts.count, t.sub(facts.count, t.ONE)), t.scale(2, data.amount))


def _permuted(facts: _Facts) -> Iterator[Term]:
    """A permutation has the values 0 and n - 1."""
    for _ in facts.of("permutation"):
        for low, high in facts.ranges:
            yield t.or_(t.eq(facts.count, t.ZERO), t.and_(t.le(low, t.ZERO), t.le(facts.count, high)))
        for multiple in facts.of("multiples"):
            assert multiple.amount is not None
            yield t.or_(t.le(facts.count, t.ONE), t.eq(multiple.amount, t.ONE))


def _in_segments(facts: _Facts) -> Iterator[Term]:
    for data in facts.of("segments"):
        if data.low is None or data.high is None or data.fact.other is None:
            continue
        if not {facts.name, data.fact.other} <= facts.contract.injective:
            continue
        lengths = _Facts(
            facts.contract, data.fact.other, [d for d in facts.contract.data if d.fact.array == data.fact.other]
        )
        count = t.minimum(facts.count, lengths.count)
        for least, _ in lengths.ranges:
            room = t.sub(data.high, data.low)
            yield t.or_(t.le(count, t.ZERO), t.le(least, t.ZERO), t.le(t.mul(count, least), room))


# -------------------------------------------------------------------------------------------- layouts
def _apart(contract: Contract) -> Iterator[Term]:
    """Elements of arrays with named strides have addresses of their own."""
    for name in sorted(contract.injective & contract.arrays.keys()):
        array = contract.arrays[name]
        if array.strides is None:
            continue
        shape, strides = ([t.substitute(term, contract.values) for term in part] for part in array_layout(array))
        dims = list(zip(shape, strides, strict=True))
        empty = t.or_(*(t.eq(size, t.ZERO) for size in shape))
        for (m, s), (n, u) in combinations(dims, 2):
            for i, j in _STEPS:
                meet = t.eq(t.scale(i, s), t.scale(j, u))
                yield t.or_(empty, t.le(m, t.const(i)), t.le(n, t.const(j)), t.not_(meet))
        for (m, s), (n, u), (k, w) in permutations(dims, 3):
            yield t.or_(empty, *(t.le(size, t.ONE) for size in (m, n, k)), t.ne(t.add(s, u), w))
