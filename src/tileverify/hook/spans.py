"""Spans of memory that do not meet, each found by bisection: a program makes thousands of arrays, and each asks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

Span = tuple[int, int]
"""First byte and the one behind the last."""


class DisjointSpans:
    """None of them is empty."""

    def __init__(self) -> None:
        self._starts: list[int] = []  # in order, and so are the ends
        self._ends: list[int] = []

    def meets(self, span: Span) -> bool:
        """Whether a byte of ``span`` is in one of them."""
        first, behind = self._met(span)
        return first < behind

    def drop(self, span: Span) -> None:
        """Take away all that ``span`` meets, each as a whole."""
        met = slice(*self._met(span))
        del self._starts[met], self._ends[met]

    def cut(self, span: Span) -> None:
        """Take away what ``span`` has of them."""
        met = slice(*self._met(span))
        rests = [
            (start, end)
            for first, last in zip(self._starts[met], self._ends[met], strict=True)
            for start, end in without((first, last), span)
        ]
        self._starts[met] = [start for start, _ in rests]
        self._ends[met] = [end for _, end in rests]

    def add(self, span: Span) -> None:
        """Put in a span that is not empty; what it has of others is in it from now on."""
        self.cut(span)
        place = bisect_left(self._starts, span[0])
        self._starts.insert(place, span[0])
        self._ends.insert(place, span[1])

    def _met(self, span: Span) -> tuple[int, int]:
        """The number of the first that ``span`` meets, and of the one behind the last."""
        return bisect_right(self._ends, span[0]), bisect_left(self._starts, span[1])


def meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def without(span: Span, taken: Span) -> list[Span]:
    """What is left of ``span``."""
    if not meet(span, taken):
        return [span]
    return [(start, end) for start, end in ((span[0], taken[0]), (taken[1], span[1])) if start < end]
