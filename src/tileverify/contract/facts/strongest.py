"""Facts without those that others imply: what is said once need not be said again in a question."""

from __future__ import annotations

from collections.abc import Iterable

from .kinds import meaning_of
from .statements import DataTerm


def strongest(facts: Iterable[DataTerm]) -> list[DataTerm]:
    """``facts`` without those that another of the same kind and array implies: of equal ones, the first is left.

    Only numbers are compared, as those of a launch of numbers are.
    """
    kept: list[DataTerm] = []
    for fact in facts:
        if not any(_says_no_more(fact, known) for known in kept):
            kept = [known for known in kept if not _says_no_more(known, fact)]
            kept.append(fact)
    return kept


def _says_no_more(outer: DataTerm, inner: DataTerm) -> bool:
    alike = (outer.fact.kind, outer.fact.array) == (inner.fact.kind, inner.fact.array)
    return alike and meaning_of(outer).holds_in(outer, inner)
