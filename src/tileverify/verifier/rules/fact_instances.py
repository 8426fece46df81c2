"""Facts about index data, instantiated on the loaded values that a question mentions.

`contract.data_facts` says what each fact means.  An instance speaks of indices inside the array only: what a
load gives elsewhere is not the array's.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Final, TypeAlias

from ... import terms as t
from ...contract.as_terms import INT_BITS, Contract, DataTerm
from ...frontend.symbolic.summary import LoopValue, Origin
from ...terms import Function, Kind, Scope, Term


def loaded_values(conditions: Iterable[Term]) -> dict[str, list[Term]]:
    """The applications that stand for elements of an array, by array."""
    found: dict[str, list[Term]] = {}
    for condition in conditions:
        for leaf in sorted(condition.free):
            if leaf.kind is Kind.APPLY and leaf.function.array is not None:
                values = found.setdefault(leaf.function.array, [])
                if leaf not in values:
                    values.append(leaf)
    return found


def data_facts(conditions: Iterable[Term], contract: Contract, origins: Mapping[str, Origin]) -> Iterator[Term]:
    """Instances of the contract's data facts for the values in ``conditions``."""
    return instances(conditions, contract.data, contract, origins)


Said: TypeAlias = "dict[tuple[int, tuple[str, ...], tuple[tuple[Term, ...], ...]], tuple[DataTerm, list[Term]]]"
"""What facts say of values, by fact (its identity: it is kept, too), arrays and values."""


def instances(
    conditions: Iterable[Term],
    facts: Iterable[DataTerm],
    contract: Contract,
    origins: Mapping[str, Origin],
    said: Said | None = None,
) -> Iterator[Term]:
    """Instances of ``facts`` for the values in ``conditions``.

    ``said``: those that were made before under this contract, whatever its facts were.
    """
    wanted, said = tuple(facts), {} if said is None else said
    found = loaded_values(conditions) if wanted else {}
    for data in wanted:
        for names in _spellings(data, contract):
            key = id(data), names, tuple([tuple(found.get(name, ())) for name in names])
            if key not in said:
                loaded = [_Loaded.of(name, found, contract, origins) for name in names]
                arrays = [array for array in loaded if array is not None]
                complete = len(arrays) == len(names)
                said[key] = data, list(_INSTANCES[data.fact.kind](data, *arrays)) if complete else []
            yield from said[key][1]


def _spellings(data: DataTerm, contract: Contract) -> Iterator[tuple[str, ...]]:
    """The fact's arrays, and the other names of what is the same array."""

    def names(array: str) -> list[str]:
        return [array, *(other for other in contract.arrays if other != array and contract.is_same(other, array))]

    if data.fact.other is None:
        yield from ((name,) for name in names(data.fact.array))
    else:
        yield from ((first, second) for first in names(data.fact.array) for second in names(data.fact.other))


@dataclass(frozen=True, slots=True)
class _Loaded:
    """``values``: the elements of one array that a question mentions.

    ``read``: an element as its type reads it (terms are the signed reading).  ``injective``: different indices mean
    different elements; otherwise two of them may share one value without repeating it.
    """

    values: Sequence[Term]
    shape: Sequence[Term]
    read: Callable[[Term], Term]
    injective: bool

    @classmethod
    def of(
        cls, name: str, found: Mapping[str, list[Term]], contract: Contract, origins: Mapping[str, Origin]
    ) -> _Loaded | None:
        origin = origins.get(name)
        if origin is None:
            return None
        rank = len(origin.shape)
        values = [v for v in found.get(name, ()) if v.function.name == name and len(v.args) == rank]
        dtype = contract.arrays[name].dtype
        read = partial(t.unsigned, INT_BITS[dtype]) if dtype.startswith("u") else _as_it_is
        return cls(values, origin.shape, read, name in contract.injective)

    @property
    def size(self) -> Term:
        return t.product(self.shape)

    def inside(self, value: Term) -> Term:
        """The index of ``value`` lies in the array."""
        return t.and_(*(t.and_(t.le(t.ZERO, i), t.lt(i, n)) for i, n in zip(value.args, self.shape, strict=True)))

    def pairs(self) -> Iterator[tuple[Term, Term, Term]]:
        """Two values, and that both lie in the array."""
        for v, w in combinations(self.values, 2):
            yield v, w, t.and_(self.inside(v), self.inside(w))


def _as_it_is(value: Term) -> Term:
    return value


def _excused(data: DataTerm, value: Term) -> Term:
    return t.or_(*(t.eq(value, x) for x in data.unless))


def _meant(data: DataTerm, value: Term) -> Term:
    """A restricted fact speaks of this value."""
    meant = t.not_(_excused(data, value))
    if data.low is not None and data.high is not None:
        meant = t.and_(meant, t.le(data.low, value), t.lt(value, data.high))
    return meant


def _range(data: DataTerm, array: _Loaded) -> Iterator[Term]:
    """low <= a[i] < high, or a[i] is excused."""
    assert data.low is not None
    assert data.high is not None
    for v in array.values:
        value = array.read(v)
        bounds = t.and_(t.le(data.low, value), t.lt(value, data.high))
        yield t.implies(array.inside(v), t.or_(bounds, _excused(data, value)))


def _injective(data: DataTerm, array: _Loaded) -> Iterator[Term]:
    """a[i] = a[j]  ->  i = j."""
    for v, w, inside in array.pairs() if array.injective else ():
        same = t.and_(*(t.eq(i, j) for i, j in zip(v.args, w.args, strict=True)))
        yield t.implies(t.and_(inside, t.eq(v, w), _meant(data, array.read(v))), same)


def _permutation(data: DataTerm, array: _Loaded) -> Iterator[Term]:
    """0 <= a[i] < size, and injective."""
    for v in array.values:
        yield t.implies(array.inside(v), t.and_(t.le(t.ZERO, array.read(v)), t.lt(array.read(v), array.size)))
    yield from _injective(data, array)


def _nondecreasing(data: DataTerm, array: _Loaded) -> Iterator[Term]:
    """i <= j  ->  a[..., i] <= a[..., j]."""
    for v, w, inside in array.pairs():
        row = t.and_(inside, *(t.eq(i, j) for i, j in zip(v.args[:-1], w.args[:-1], strict=True)))
        for first, second in ((v, w), (w, v)):
            rising = t.le(array.read(first), array.read(second))
            yield t.implies(t.and_(row, t.le(first.args[-1], second.args[-1])), rising)


def _multiples(data: DataTerm, array: _Loaded) -> Iterator[Term]:
    """a[i] % n = 0."""
    assert data.amount is not None
    for v in array.values:
        yield t.implies(array.inside(v), t.eq(t.floormod(array.read(v), data.amount), t.ZERO))


def _shares(data: DataTerm, array: _Loaded) -> Iterator[Term]:
    """0 <= a[i] <= n;  i != j  ->  a[i] + a[j] <= n;  a[0] + a[1] + ... <= n, also with another a[i]."""
    assert data.amount is not None
    for v in array.values:
        value = array.read(v)
        yield t.implies(array.inside(v), t.and_(t.le(t.ZERO, value), t.le(value, data.amount)))
    if not array.injective:
        return
    for v, w, inside in array.pairs():
        differ = t.or_(*(t.ne(i, j) for i, j in zip(v.args, w.args, strict=True)))
        yield t.implies(t.and_(inside, differ), t.le(t.add(array.read(v), array.read(w)), data.amount))
    fixed = [v for v in array.values if all(i.kind is Kind.CONST for i in v.args)]
    if len(fixed) < 2:
        return
    together, known = t.add(*map(array.read, fixed)), t.and_(*map(array.inside, fixed))
    yield t.implies(known, t.le(together, data.amount))
    for v in array.values:
        if v not in fixed:
            other = t.and_(array.inside(v), *(t.or_(*map(t.ne, v.args, w.args)) for w in fixed))
            yield t.implies(t.and_(known, other), t.le(t.add(together, array.read(v)), data.amount))


def _disjoint_rows(data: DataTerm, array: _Loaded) -> Iterator[Term]:
    """a[i, j] = a[k, l]  ->  i = k."""
    for v, w, inside in array.pairs() if array.injective else ():
        yield t.implies(t.and_(inside, t.eq(v, w), _meant(data, array.read(v))), t.eq(v.args[0], w.args[0]))


def _segments(data: DataTerm, starts: _Loaded, lengths: _Loaded) -> Iterator[Term]:
    """0 <= n[i]; where it is not 0, with e(i) = a[i] + n[i]:  low <= a[i], e(i) <= high;  i != j -> e(i) <= a[j] or
    e(j) <= a[i]."""
    for length in lengths.values:
        yield t.implies(lengths.inside(length), t.le(t.ZERO, lengths.read(length)))
    functions = dict.fromkeys(v.function for v in lengths.values)
    if not (starts.injective and lengths.injective) or len(functions) != 1:
        return
    (function,) = functions
    segments = [_Segment.of(v, starts, lengths, function) for v in starts.values]
    for one in segments:
        if data.low is not None and data.high is not None:
            yield t.implies(one.real, t.and_(t.le(data.low, one.start), t.le(one.end, data.high)))
    for one, other in combinations(segments, 2):
        apart = t.or_(t.le(one.end, other.start), t.le(other.end, one.start))
        yield t.implies(t.and_(one.real, other.real, t.ne(one.number, other.number)), apart)


@dataclass(frozen=True, slots=True)
class _Segment:
    """``real``: there is such a segment and it is not empty."""

    number: Term
    start: Term
    end: Term
    real: Term

    @classmethod
    def of(cls, first: Term, starts: _Loaded, lengths: _Loaded, function: Function) -> _Segment:
        (number,) = first.args
        length = t.apply(function, number)
        start, count = starts.read(first), lengths.read(length)
        real = t.and_(starts.inside(first), lengths.inside(length), t.lt(t.ZERO, count))
        return cls(number, start, t.add(start, count), real)


_INSTANCES: Final[Mapping[str, Callable[..., Iterator[Term]]]] = {
    "range": _range,
    "injective": _injective,
    "permutation": _permutation,
    "nondecreasing": _nondecreasing,
    "multiples": _multiples,
    "shares": _shares,
    "disjoint_rows": _disjoint_rows,
    "segments": _segments,
}


# ---------------------------------------------------------------------------------------- contents to try
def ordinary_data(
    conditions: Iterable[Term], origins: Mapping[str, Origin], spacing: int = 1, only: Container[str] | None = None
) -> Iterator[Term]:
    """``a[i] = spacing * i``, counted in row-major order: contents that are injective and sorted at once.

    For every array, or for those of ``only``.

    A race that shows both with indices that count up and with offsets far apart is the kernel's own, not the data's.
    """
    for array, values in loaded_values(conditions).items():
        for v in values if only is None or array in only else ():
            origin = origins.get(array)
            linear = t.ZERO
            for i, argument in enumerate(v.args):
                extent = origin.shape[i] if origin and len(origin.shape) == len(v.args) else t.ONE
                linear = t.add(t.mul(linear, extent), argument)
            yield t.eq(v, t.scale(spacing, linear))


WIDE_SPACING = 4096
"""Apart by more than any tile is wide in one dimension."""


def computed_addresses(
    terms: Iterable[Term], loop_values: Iterable[LoopValue] = (), known: Container[str] = ()
) -> bool:
    """Whether an address depends on values that the block computes from data.

    When loops end does not count, nor what a load gives outside its array, nor do ``known`` functions; ``loop_values``
    are what they are made of.
    """
    by_function = {value.function: value for value in loop_values}
    left, seen = list(terms), set()
    while left:
        for leaf in left.pop().free:
            if leaf.kind is Kind.APPLY and leaf.function not in seen:
                seen.add(leaf.function)
                value = by_function.get(leaf.function)
                if value is not None:
                    left += [value.init, value.next]
                elif (
                    leaf.function.scope is not Scope.LAUNCH
                    and not leaf.function.name.startswith(_OF_LOOPS)
                    and not leaf.function.name.endswith(_OUTSIDE)
                    and leaf.function.name not in known
                ):
                    return True
    return False


_OF_LOOPS = ("trips", "last", "overflow")
"""Functions that say when loops end."""

_OUTSIDE = ".outside"
"""What a load gives where the array has no element; the replay knows."""
