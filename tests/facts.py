"""What each data fact means, element by element, without the formulas of `contract.facts.kinds`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileverify.contract.launch import DataFact, Expression

Array = NDArray[Any]


def keeps(fact: DataFact, arrays: Mapping[str, Array], value: Callable[[Expression], int]) -> bool:
    """Whether the contents of ``arrays`` keep the fact; ``value`` evaluates its expressions."""
    a = arrays[fact.array]
    numbers = (fact.low, fact.high, fact.amount, fact.width)
    low, high, amount, width = (None if e is None else value(e) for e in numbers)
    excused = [value(x) for x in fact.unless]
    places = list(np.ndindex(*a.shape))
    inside = {i: low is None or high is None or low <= int(a[i]) < high for i in places}
    meant = [i for i in places if inside[i] and int(a[i]) not in excused]
    if fact.kind in ("ranks", "buckets", "chunks"):
        assert amount is not None
        own, keys = (list(map(int, arrays[name])) for name in fact.arrays)
        taken = _chunks(own, keys, amount) if fact.kind == "chunks" else _taken(own, keys, amount, width or 0)
        return _number(own, keys, amount) if fact.kind == "ranks" else _apart(list(taken), low, high)
    if fact.kind in ("distinct_where", "in_segments"):
        return _beside(fact.kind, *(list(map(int, arrays[name])) for name in fact.arrays), excused=excused)
    if fact.kind in ("value_at", "column_range", "unique_rows"):
        return _at_places(fact.kind, a, inside, amount, low)
    match fact.kind:
        case "range":
            return all(inside[i] or int(a[i]) in excused for i in places)
        case "injective":
            return all(a[i] != a[j] for i, j in combinations(meant, 2))
        case "permutation":
            return sorted(map(int, a.reshape(-1))) == list(range(a.size))
        case "nondecreasing":
            return all(list(a[row]) == sorted(a[row]) for row in np.ndindex(*a.shape[:-1]))
        case "multiples":
            assert amount is not None
            return all(int(v) % amount == 0 for v in a.reshape(-1))
        case "shares":
            assert amount is not None
            return all(int(v) >= 0 for v in a.reshape(-1)) and sum(map(int, a.reshape(-1))) <= amount
        case "disjoint_rows":
            return all(a[i] != a[j] for i, j in combinations(meant, 2) if i[0] != j[0])
        case "segments":
            n = arrays[fact.others[0]]
            parts = [set(range(int(s), int(s) + int(c))) for s, c in zip(a, n, strict=False)]
            bounded = low is None or high is None or all(low <= x < high for part in parts for x in part)
            return bounded and all(n >= 0) and not any(p & q for p, q in combinations(parts, 2))
    raise AssertionError(fact.kind)


def _chunks(starts: list[int], offsets: list[int], n: int) -> Iterator[int]:
    """The numbers of the chunks of all segments."""
    for start, (begin, end) in zip(starts, pairwise(offsets), strict=False):
        yield from (start + number for number, _ in enumerate(range(begin, end, n)))


def _apart(taken: list[int], low: int | None, high: int | None) -> bool:
    """Whether no place is taken twice, nor outside of the bounds that there may be."""
    return len(set(taken)) == len(taken) and (low is None or high is None or all(low <= x < high for x in taken))


def _at_places(
    kind: str, a: Array, inside: Mapping[tuple[int, ...], bool], column: int | None, value: int | None
) -> bool:
    """``inside``: which elements are within the limits of the column."""
    if kind == "value_at":
        return column in range(a.size) and int(a.reshape(-1)[column]) == value
    if kind == "column_range":
        return all(within for place, within in inside.items() if place[1] == column)
    rows = [tuple(map(int, row)) for row in a]
    return len(set(rows)) == len(rows) or not a.size


def _number(ranks: list[int], keys: list[int], n: int) -> bool:
    """Whether each rank is less than how many keys of its chunk are like its own, and these have other ranks."""
    for i, rank in enumerate(ranks[: len(keys)]):
        alike = [j for j, key in enumerate(keys) if key == keys[i] and j // n == i // n]
        if not 0 <= rank < len(alike) or any(ranks[j] == rank for j in alike if j != i and j < len(ranks)):
            return False
    return True


def _taken(starts: list[int], keys: list[int], n: int, width: int) -> Iterator[int]:
    """What lies in the buckets, each place as often as there are buckets that it lies in."""
    chunks = [keys[i : i + n] for i in range(0, len(keys), n)]
    for (b, chunk), k in product(enumerate(chunks), range(width)):
        if b * width + k < len(starts):
            yield from (starts[b * width + k] + number for number in range(chunk.count(k)))


def _beside(kind: str, a: list[int], beside: list[int], *further: list[int], excused: list[int]) -> bool:
    """Whether values keep what is said of them beside others."""
    pairs = list(zip(a, beside, strict=False))
    if kind == "distinct_where":
        return all(n == 1 for v, n in Counter(v for v, count in pairs if count > 0).items() if v not in excused)
    ends = dict(enumerate(pairwise(*further)))
    return all(k not in ends or ends[k][0] <= v < ends[k][1] for v, k in pairs)
