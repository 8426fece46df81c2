"""Facts that held of the index arrays of recorded launches, in numbers and as strong as they were.

They are observations: nobody says that they hold in the next launch.  A proof that needs one assumes a weaker form of
it and says so (`verifier.observed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, permutations
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def observed_facts(contents: Mapping[str, Sequence[Array]]) -> list[str]:
    """Facts as launch specs write them, on arrays by name, each with what it held in several launches."""
    facts = [fact for name, found in contents.items() for fact in _facts(name, found)]
    for starts, lengths in permutations(contents, 2):
        pairs = list(zip(contents[starts], contents[lengths], strict=True))
        if all(s.ndim == n.ndim == 1 and 0 <= len(s) - len(n) <= 1 < len(s) for s, n in pairs):
            bounds = [_segments(s, n) for s, n in pairs]
            found_bounds = [each for each in bounds if each is not None]
            if len(found_bounds) == len(bounds):
                low, high = min(b[0] for b in found_bounds), max(b[1] for b in found_bounds)
                facts.append(f"segments({starts}, {lengths}, {low}, {high})")
    return facts


def _facts(name: str, contents: Sequence[Array]) -> Iterator[str]:
    values = np.concatenate([each.reshape(-1).astype(object) for each in contents])
    negative = sorted({int(v) for v in values if v < 0})
    positive = [int(v) for v in values if v >= 0]
    if len(negative) == 1 and positive:
        yield f"range({name}, {min(positive)}, {max(positive) + 1}, unless={negative[0]})"
    else:
        yield f"range({name}, {int(min(values))}, {int(max(values)) + 1})"
    yield from _distinct(name, contents)
    if all(each.size > 1 and not (each[..., 1:] < each[..., :-1]).any() for each in contents):
        yield f"nondecreasing({name})"
    step = gcd(*map(int, values))
    if step > 1:
        yield f"multiples({name}, {step})"
    if not negative and all(each.ndim == 1 and each.size > 1 for each in contents):
        yield f"shares({name}, {max(int(each.astype(object).sum()) for each in contents)})"


def _distinct(name: str, contents: Sequence[Array]) -> Iterator[str]:
    """Which values occur once: all, all but one, or those below the first that occurs again."""
    if all(each.size < 2 for each in contents):
        return
    repeated = sorted({value for each in contents for value in _repeated(each)})
    if not repeated:
        yield f"injective({name})"
        return
    if len(repeated) == 1:
        yield f"injective({name}, unless={repeated[0]})"
    below = min((value for value in repeated if value >= 0), default=0)
    if below > 0 and any(np.count_nonzero((each >= 0) & (each < below)) > 1 for each in contents):
        yield f"injective({name}, 0, {below})"
    if all(each.ndim > 1 for each in contents):
        rows = [np.concatenate([np.unique(row) for row in each.reshape(len(each), -1)]) for each in contents]
        shared = {value for row in rows for value in _repeated(row)}
        if not shared:
            yield f"disjoint_rows({name})"
        elif len(shared) == 1:
            yield f"disjoint_rows({name}, unless={min(shared)})"


def _repeated(array: Array) -> list[int]:
    values, counts = np.unique(array, return_counts=True)
    return [int(value) for value in values[counts > 1]]


def _segments(starts: Array, lengths: Array) -> tuple[int, int] | None:
    """Where the segments lie, if no length is negative, not all are 0, and none meet."""
    spans = sorted((int(s), int(s) + int(n)) for s, n in zip(starts, lengths, strict=False) if n > 0)
    meet = any(after < end for (_, end), (after, _) in pairwise(spans))
    if meet or not spans or (lengths < 0).any():
        return None
    return spans[0][0], spans[-1][1]
