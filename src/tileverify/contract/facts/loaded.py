"""What facts as terms are said of: values that were loaded from an array, and an array of a contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from .. import terms as t
from ..terms import Term
from .form import Subject
from .statements import DataTerm


@dataclass(frozen=True, slots=True)
class Loaded:
    """``values``: the elements of one array that a question mentions.

    ``read``: an element as its type reads it (terms are the signed reading).  ``injective``: different indices mean
    different elements; otherwise two of them may share one value without repeating it.
    """

    values: Sequence[Term]
    shape: Sequence[Term]
    read: Callable[[Term], Term]
    injective: bool

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


@dataclass(frozen=True, slots=True)
class Within:
    """Where the values of an array lie: from ``low`` to below ``high``, or they are one of ``unless``."""

    low: Term
    high: Term
    unless: tuple[Term, ...] = ()

    def between(self, value: Term) -> Term:
        return t.and_(t.le(self.low, value), t.lt(value, self.high))

    def holds(self, value: Term) -> Term:
        return t.or_(self.between(value), *(t.eq(value, x) for x in self.unless))


@dataclass(frozen=True, slots=True)
class Promised:
    """An array of a contract with the facts on it.

    ``limits``: the ends of what its type holds, the second one excluded.  ``injective``: as of `Loaded`.  ``array``
    gives the others of the contract.
    """

    facts: Sequence[tuple[Subject, DataTerm]]
    shape: Sequence[Term]
    limits: tuple[Term, Term]
    injective: bool
    array: Callable[[str], Promised]

    def all_of(self, *subjects: Subject) -> Iterator[DataTerm]:
        """The facts on these subjects, in the order of the contract."""
        return (data for subject, data in self.facts if subject in subjects)

    def of(self, *subjects: Subject) -> Iterator[DataTerm]:
        """Those that excuse no values."""
        return (data for data in self.all_of(*subjects) if not data.unless)

    @property
    def count(self) -> Term:
        """How many elements it has."""
        return t.product(self.shape)

    @property
    def ranges(self) -> Iterator[tuple[Term, Term]]:
        """Where values lie, by facts that excuse none and by their type."""
        return ((each.low, each.high) for each in self.within if not each.unless)

    @property
    def within(self) -> Iterator[Within]:
        """Where values lie, by facts and by their type."""
        for data in self.all_of(Subject.LIMITS):
            assert data.low is not None
            assert data.high is not None
            yield Within(data.low, data.high, data.unless)
        yield Within(*self.limits)

    @property
    def steps(self) -> Iterator[Term]:
        """What the values are multiples of."""
        for data in self.of(Subject.STEPS):
            assert data.amount is not None
            yield data.amount
