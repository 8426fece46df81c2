"""Spans of memory, against the bytes that are in them."""

from __future__ import annotations

from random import Random

import pytest

from tileverify.hook.index_contents import DisjointSpans, Span

from ..profiles import tries

MEMORY = 24


@pytest.mark.random
def test_spans_are_the_bytes_that_were_put_in_and_not_taken_away() -> None:
    for seed in range(tries(short=200, long=20_000)):
        random = Random(seed)
        spans, kept = DisjointSpans(), list[Span]()
        for _ in range(40):
            start, end = sorted((random.randrange(MEMORY), random.randint(0, MEMORY)))
            span = start, end
            match random.choice(("add", "cut", "drop", "ask")):
                case "add" if start < end:
                    spans.add(span)
                    kept = [*_cut(kept, span), span]
                case "cut":
                    spans.cut(span)
                    kept = _cut(kept, span)
                case "drop":
                    spans.drop(span)
                    kept = [each for each in kept if not _meet(each, span)]
            for asked in ((at, at + size) for at in range(MEMORY) for size in (1, 3)):
                assert spans.meets(asked) == any(_meet(each, asked) for each in kept), (seed, kept, asked)


def test_a_cut_without_bytes_parts_a_span() -> None:
    """Which is then let go of half by half."""
    spans = DisjointSpans()
    spans.add((0, 10))
    spans.cut((5, 5))
    spans.drop((0, 1))
    assert [spans.meets((at, at + 1)) for at in (0, 4, 5, 9)] == [False, False, True, True]


def _meet(one: Span, other: Span) -> bool:
    if other[0] == other[1]:
        return one[0] < other[0] < one[1]
    return bool(set(range(*one)) & set(range(*other)))


def _cut(kept: list[Span], taken: Span) -> list[Span]:
    """Span by span, as runs of the bytes that are left; an empty one parts what it lies in."""
    rests = []
    for start, end in kept:
        border = taken[0] if start < taken[0] == taken[1] < end else end
        left = [at for at in range(start, end) if not taken[0] <= at < taken[1]]
        runs: list[list[int]] = []
        for at in left:
            if runs and runs[-1][-1] == at - 1 and at != border:
                runs[-1].append(at)
            else:
                runs.append([at])
        rests += [(run[0], run[-1] + 1) for run in runs]
    return rests
