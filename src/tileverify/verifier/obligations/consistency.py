"""What a launch of the contract takes beyond its facts: contents that keep the data facts, layouts without overlaps.

The facts of a contract speak of launch-known quantities.  Data facts and the promise of a named stride are used where a
question mentions elements, so that a contract whose promises nobody can keep would prove everything in silence.  The
terms below follow from such promises for every launch (a is an array of n elements, [l, h) the range of its values):

    first elements:         there are values that keep every fact, for as many of them as n says
    values that differ:     n <= h - l,  of multiples of m:  n <= (h - l - 1) // m + 1
                            n <= h - l + u  with u values that a range excuses, unless one that may repeat lies in it
    rows that differ:       n = 0  or  as many values as rows
    a kind of fact besides: what its `promises` say (`contract.facts`)
    elements with addresses of their own, strides s and t of two dimensions:
                            i * s = j * t  ->  not (i < m and j < n)        for small i and j
                            s + t = u      ->  one of the three dimensions has one element

Each is necessary, so that what contradicts them has no launch; what they let pass may still have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, permutations
from typing import Final

from ...contract import terms as t
from ...contract.contract import Contract, array_layout
from ...contract.element_types import INT_BITS
from ...contract.facts.form import DISTINCT, Subject
from ...contract.facts.kinds import meaning_of, subject_of
from ...contract.facts.loaded import Promised, Within
from ...contract.facts.statements import DataTerm
from ...contract.terms import Function, Scope, Term
from ...frontend.symbolic.summary import Origin, OriginKind
from .fact_use import data_facts

_STEPS: Final = ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2))
"""Steps along two dimensions that are tried for addresses that meet, without common factors."""

_FIRST: Final = 3
"""Elements of a row on which facts are tried together: what more of them contradict is left to counting."""

_OF_ONE: Final = frozenset({Subject.LIMITS, Subject.STEPS})
"""What a fact on these says, it says of each element alone."""


def promises(contract: Contract) -> tuple[Term, ...]:
    """What must hold of a launch, or nobody can keep the contract's promises."""
    found = (*_first_elements(contract), *_counted(contract), *_apart(contract))
    return tuple(dict.fromkeys(term for term in found if term is not t.TRUE))


# ------------------------------------------------------------------------------------------- contents
def _first_elements(contract: Contract) -> Iterator[Term]:
    """The facts on the first elements of each array that has any: on one, where none says how elements differ."""
    origins: dict[str, Origin] = {}
    first: list[Term] = []
    for name in elements(contract):
        shape = _shape(contract, name)
        origins[name] = Origin(OriginKind.PARAMETER, name, 1, tuple(shape))
        half = 1 << (INT_BITS[contract.arrays[name].dtype] - 1)
        function = Function(name, Scope.LAUNCH, -half, half - 1, array=name)
        *before, _ = zeros = [t.ZERO for _ in shape] or [t.ZERO]
        related = shape and any(name in data.fact.arrays and subject_of(data) not in _OF_ONE for data in contract.data)
        places = [(*before, t.const(i)) for i in range(_FIRST)] if related else [zeros]
        first.extend(t.apply(function, *place) for place in places)
    yield from data_facts(first, contract, origins)


def elements(contract: Contract) -> dict[str, Term]:
    """How many elements each array has that a fact speaks of."""
    named = dict.fromkeys(name for data in contract.data for name in data.fact.arrays if _whole(contract, name))
    return {name: t.product(_shape(contract, name)) for name in named}


def _whole(contract: Contract, name: str) -> bool:
    """Facts speak of integers; whoever makes a contract without a spec may not know."""
    return contract.arrays[name].dtype in INT_BITS


def _shape(contract: Contract, name: str) -> list[Term]:
    return [t.substitute(size, contract.values) for size in array_layout(contract.arrays[name])[0]]


def _promised(contract: Contract, name: str) -> Promised:
    facts = [data for data in contract.data if data.fact.array == name]
    bits = INT_BITS[contract.arrays[name].dtype]
    unsigned = contract.arrays[name].dtype.startswith("u")
    return Promised(
        [(subject_of(data), data) for data in facts],
        _shape(contract, name),
        (t.ZERO, t.const(1 << bits)) if unsigned else (t.const(-(1 << (bits - 1))), t.const(1 << (bits - 1))),
        name in contract.injective,
        partial(_promised, contract),
    )


def _counted(contract: Contract) -> Iterator[Term]:
    for name in elements(contract):
        array = _promised(contract, name)
        yield from _distinct(array)
        for subject in Subject:
            for data in array.of(subject):
                yield from meaning_of(data).promised(data, array)


def _distinct(array: Promised) -> Iterator[Term]:
    """As many values as elements, or as rows."""
    for data in array.all_of(*DISTINCT) if array.injective else ():
        needed = meaning_of(data).values_needed(array)
        assert needed is not None
        for within in array.within:
            excused = t.or_(t.eq(array.count, t.ZERO), t.not_(_spoken(data, within)))
            beside = t.add(*(t.ite(within.between(x), t.ZERO, t.ONE) for x in within.unless))
            room = t.maximum(t.sub(within.high, within.low), t.ZERO)
            yield t.or_(excused, t.le(needed, t.add(room, beside)))
            for step in array.steps:
                steps = t.floordiv(t.sub(t.sub(within.high, within.low), t.ONE), step)
                yield t.or_(excused, t.le(needed, t.add(steps, t.ONE, beside)))


def _spoken(data: DataTerm, within: Within) -> Term:
    """The fact says that all values are different which may be there: none of them is excused or outside its bounds."""
    said = [t.not_(within.holds(x)) for x in data.unless]
    if data.low is not None and data.high is not None:
        said += [t.le(data.low, within.low), t.le(within.high, data.high)]
        said += [t.and_(t.le(data.low, x), t.lt(x, data.high)) for x in within.unless]
    return t.and_(*said)


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
