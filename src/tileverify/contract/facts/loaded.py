"""What facts as terms are said of: values that were loaded from an array, and an array of a contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .. import terms as t
from ..terms import Function, Term, TermKind
from .form import Subject
from .statements import DataTerm

MOST_COLUMNS: Final = 8
"""Elements of a row that are written out, where a fact compares whole rows."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """``values``: the elements of one array that a question mentions.

    ``read``: an element as its type reads it (terms are the signed reading).  ``injective``: different indices mean
    different elements; otherwise two of them may share one value without repeating it.  ``axis``: the one along which
    all elements lie, where a fact counts them so.  ``axes``: the sizes of several axes, where values have one index
    that counts through all of them in row-major order; only the first may be no number, and none of the others is 0.
    """

    values: Sequence[Term]
    shape: Sequence[Term]
    read: Callable[[Term], Term]
    injective: bool
    axis: int | None = None
    axes: Sequence[Term] = ()

    @property
    def width(self) -> Term:
        """How many elements a row has."""
        return (self.axes or self.shape)[-1]

    @property
    def in_short_rows(self) -> bool:
        """All elements of a row can be written out."""
        return self.width.kind is TermKind.CONST and self.width.value <= MOST_COLUMNS

    def place(self, value: Term) -> tuple[Term, ...]:
        """Of one of the values, its index on each axis."""
        if not self.axes:
            return value.args
        behind = [t.product(self.axes[d + 1 :]) for d in range(len(self.axes))]
        places = [t.floordiv(value.args[0], count) for count in behind]
        return (places[0], *(t.floormod(i, size) for i, size in zip(places[1:], self.axes[1:], strict=True)))

    def arguments(self, place: Sequence[Term]) -> tuple[Term, ...]:
        """What its function takes for the element at a `place`."""
        if not self.axes:
            return tuple(place)
        behind = [t.product(self.axes[d + 1 :]) for d in range(len(self.axes))]
        return (t.add(*map(t.mul, place, behind)),)

    @property
    def size(self) -> Term:
        return t.product(self.shape)

    def index(self, value: Term) -> Term:
        """Of one of the values, counted along the one axis."""
        return value.args[self.axis or 0]

    def at(self, index: Term) -> tuple[Term, ...]:
        """Where the element of that index lies."""
        return tuple(index if axis == (self.axis or 0) else t.ZERO for axis in range(len(self.shape)))

    @property
    def function(self) -> Function | None:
        """The function that gives the elements; ``None`` where none is mentioned, or they have several."""
        functions = dict.fromkeys(v.function for v in self.values)
        return next(iter(functions)) if len(functions) == 1 else None

    def inside(self, *index: Term) -> Term:
        """The index lies in the array."""
        return t.and_(*(t.and_(t.le(t.ZERO, i), t.lt(i, n)) for i, n in zip(index, self.shape, strict=True)))


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
    def distinct(self) -> bool:
        """All values differ, whatever they are."""
        return any(each.low is None for each in self.of(Subject.ELEMENTS))

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
