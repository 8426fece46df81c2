"""Facts without those that others imply: what is said once need not be said again in a question."""

from __future__ import annotations

from collections.abc import Iterable

from ...terms import Kind
from ..as_terms import DataTerm


def strongest(facts: Iterable[DataTerm]) -> list[DataTerm]:
    """``facts`` without the ranges that hold a range of the same array: of equal ones, the first is left.

        low <= low' and high' <= high  and  low' <= a[i] < high'   imply   low <= a[i] < high

    Only ends that are numbers are compared, as those of a launch of numbers are.
    """
    kept: list[DataTerm] = []
    for fact in facts:
        if not any(_within(known, fact) for known in kept):
            kept = [known for known in kept if not _within(fact, known)]
            kept.append(fact)
    return kept


def _within(inner: DataTerm, outer: DataTerm) -> bool:
    """Whether ``outer`` is a range that holds the range ``inner``, so that it says nothing more."""
    if inner.fact.kind != "range" or outer.fact.kind != "range" or inner.fact.array != outer.fact.array or inner.unless:
        return False
    ends = (inner.low, inner.high, outer.low, outer.high)
    low, high, least, most = (None if end is None or end.kind is not Kind.CONST else end.value for end in ends)
    if low is None or high is None or least is None or most is None:
        return False
    return least <= low and high <= most
