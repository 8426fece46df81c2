"""What each data fact means, element by element, as the modules of `contract.facts` say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileverify.contract.launch import DataFact, Expression

Array = NDArray[Any]


def keeps(fact: DataFact, arrays: Mapping[str, Array], value: Callable[[Expression], int]) -> bool:
    """Whether the contents of ``arrays`` keep the fact; ``value`` evaluates its expressions."""
    a = arrays[fact.array]
    low, high, amount = (None if e is None else value(e) for e in (fact.low, fact.high, fact.amount))
    excused = [value(x) for x in fact.unless]
    places = list(np.ndindex(*a.shape))
    inside = {i: low is None or high is None or low <= int(a[i]) < high for i in places}
    meant = [i for i in places if inside[i] and int(a[i]) not in excused]
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
            n = arrays[str(fact.other)]
            parts = [set(range(int(s), int(s) + int(c))) for s, c in zip(a, n, strict=False)]
            bounded = low is None or high is None or all(low <= x < high for part in parts for x in part)
            return bounded and all(n >= 0) and not any(p & q for p, q in combinations(parts, 2))
    raise AssertionError(fact.kind)
