"""What the facts share that say which values are different, in all or in part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from .. import terms as t
from ..launch import DataFact
from ..terms import Term
from .base import Fact
from .found import HeldValues
from .loaded import Loaded
from .on_host import Array, Value, bounds, element, outside
from .on_host import excused as excused_elements
from .statements import DataTerm, NumberedFact


def excused(data: DataTerm, value: Term) -> Term:
    """The fact says nothing of this value."""
    return t.or_(*(t.eq(value, x) for x in data.unless))


def meant(data: DataTerm, value: Term) -> Term:
    """A restricted fact speaks of this value."""
    said = t.not_(excused(data, value))
    if data.low is not None and data.high is not None:
        said = t.and_(said, t.le(data.low, value), t.lt(value, data.high))
    return said


def no_value_twice(data: DataTerm, array: Loaded) -> Iterator[Term]:
    """a[i] = a[j]  ->  i = j."""
    for v, w, inside in array.pairs() if array.injective else ():
        same = t.and_(*(t.eq(i, j) for i, j in zip(v.args, w.args, strict=True)))
        yield t.implies(t.and_(inside, t.eq(v, w), meant(data, array.read(v))), same)


def repeated_element(fact: DataFact, array: Array, value: Value, *, rows: bool = False) -> str | None:
    """Two elements of one value, of those the fact speaks of; with ``rows``, in different rows."""
    import numpy as np

    flat = array.reshape(-1)
    spoken = ~np.isin(flat, excused_elements(fact, flat, value))
    if fact.low is not None:
        spoken &= ~outside(flat, *bounds(fact, flat.size, value))
    places = np.flatnonzero(spoken)
    order = places[np.argsort(flat[places], kind="stable")]
    again = flat[order][1:] == flat[order][:-1]
    if rows:
        width = max(1, flat.size // max(1, array.shape[0]))
        again &= order[1:] // width != order[:-1] // width
    twice = np.flatnonzero(again)
    if not len(twice):
        return None
    first, second = (int(order[twice[0] + k]) for k in (0, 1))
    return f"{element(fact.array, array, first)} is also {element(fact.array, array, second, value=False)}"


def held_but_for_one(fact: Fact, found: HeldValues) -> Iterator[NumberedFact]:
    """The fact on contents that keep it, or keep it but for the value that occurs most often."""
    said = NumberedFact(fact.kind, found.name)
    if not fact.keeps(said, found.values, found.width):
        said = replace(said, unless=frozenset({Counter(found.values).most_common(1)[0][0]}))
    if fact.keeps(said, found.values, found.width):
        yield said


def among(low: str, high: str) -> str:
    """The values that a restricted fact speaks of, in words; ``low`` is empty if it speaks of all."""
    return f" among those from {low} to below {high}" if low else ""
