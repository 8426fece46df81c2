"""Parts of a range that do not meet, and where they may begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

from .statements import NumberedFact

Span: TypeAlias = tuple[int, int]
"""Where a part begins, and where it ends, the end excluded; it is not empty."""


def lie_apart(fact: NumberedFact, spans: Iterable[Span]) -> bool:
    """Whether no two of the parts meet, and all lie in the fact's bounds, where it has such."""
    ordered = sorted(spans)
    inside = all((fact.low is None or fact.low <= a) and (fact.high is None or b <= fact.high) for a, b in ordered)
    return inside and all(end <= start for (_, end), (start, _) in pairwise(ordered))


def ends_of(spans: Iterable[Span]) -> Span | None:
    """Where all parts lie, if there are some and none meet."""
    ordered = sorted(spans)
    if not ordered or any(after < end for (_, end), (after, _) in pairwise(ordered)):
        return None
    return ordered[0][0], ordered[-1][1]


def one_behind_the_other(
    low: int, sizes: Sequence[int], order: Sequence[int], step: int = 1, gap: int = 0
) -> list[int]:
    """Where parts of these sizes begin if they lie in this order, at multiples of ``step`` from ``low`` on."""

    def behind(start: int, size: int) -> int:
        return -(-(start + size) // step) * step

    ends = list(accumulate((max(sizes[i], 0) + gap for i in order), behind, initial=behind(low, 0)))
    starts = [ends[0]] * len(sizes)
    for place, i in zip(ends, order, strict=False):
        starts[i] = place
    return starts
