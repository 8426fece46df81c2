"""Whether the contents of index arrays keep a data fact, and what breaks it (`contract.data_facts`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from ...contract.data_facts import print_data_fact
from ...contract.launch import DataFact, Expression
from ...errors import UsageError
from .elements import Array

Value = Callable[[Expression], int]
"""The number that an expression of a launch has."""


def texts(facts: Sequence[DataFact]) -> str:
    """The facts as they were written."""
    return " and ".join(fact.text or print_data_fact(fact) for fact in facts)


def bounds(fact: DataFact, count: int, value: Value) -> tuple[int, int]:
    """The low (inclusive) and the high end (exclusive) of a fact; of a permutation of ``count`` elements its own."""
    low = 0 if fact.low is None else value(fact.low)
    return low, count if fact.high is None else value(fact.high)


def amount(fact: DataFact, value: Value) -> int:
    """The ``n`` of ``multiples`` and ``shares``."""
    assert fact.amount is not None
    return value(fact.amount)


def check_facts(contents: Mapping[str, Array], facts: Sequence[DataFact], value: Value) -> None:
    """Raises `UsageError` with the fact, the element and its value where contents break a data fact."""
    for fact in facts:
        problem = violation(fact, contents, value)
        if problem is not None:
            raise UsageError(f"the launch is outside the contract: '{texts([fact])}' does not hold, {problem}")


def violation(fact: DataFact, contents: Mapping[str, Array], value: Value) -> str | None:
    """What breaks the fact, with element and value; ``None`` if it holds."""
    array = contents[fact.array]
    if fact.other is not None:
        return _meeting(fact, array, contents[fact.other], value)
    return _CHECKS[fact.kind](fact, array, value)


def _outside_range(fact: DataFact, array: Array, value: Value) -> str | None:
    flat = array.reshape(-1)
    low, high = bounds(fact, flat.size, value)
    excused = np.isin(flat, _numbers(fact, flat, value))
    outside = np.flatnonzero(_outside(flat, low, high) & ~excused)
    return f"{_element(fact.array, array, int(outside[0]))} is not in [{low}, {high})" if len(outside) else None


def _repeated(fact: DataFact, array: Array, value: Value) -> str | None:
    """Two elements of one value, of those the fact speaks of; of ``disjoint_rows`` also in different rows."""
    flat = array.reshape(-1)
    meant = ~np.isin(flat, _numbers(fact, flat, value))
    if fact.low is not None:
        meant &= ~_outside(flat, *bounds(fact, flat.size, value))
    places = np.flatnonzero(meant)
    order = places[np.argsort(flat[places], kind="stable")]
    again = flat[order][1:] == flat[order][:-1]
    if fact.kind == "disjoint_rows":
        width = max(1, flat.size // max(1, array.shape[0]))
        again &= order[1:] // width != order[:-1] // width
    twice = np.flatnonzero(again)
    if not len(twice):
        return None
    first, second = (int(order[twice[0] + k]) for k in (0, 1))
    return f"{_element(fact.array, array, first)} is also {_element(fact.array, array, second, value=False)}"


def _no_permutation(fact: DataFact, array: Array, value: Value) -> str | None:
    return _outside_range(fact, array, value) or _repeated(fact, array, value)


def _falling(fact: DataFact, array: Array, value: Value) -> str | None:
    if array.ndim == 0 or array.size == 0:
        return None
    falls = np.argwhere(array[..., 1:] < array[..., :-1])
    if not len(falls):
        return None
    *row, before = (int(i) for i in falls[0])
    place = int(np.ravel_multi_index((*row, before + 1), array.shape))
    return f"{_element(fact.array, array, place)} follows {array[(*row, before)]}"


def _no_multiple(fact: DataFact, array: Array, value: Value) -> str | None:
    number, flat = amount(fact, value), array.reshape(-1)
    if number < 1:
        return f"the number {number} is below 1"
    wrong = np.flatnonzero(flat.astype(object) % number)
    return f"{_element(fact.array, array, int(wrong[0]))} is no multiple of {number}" if len(wrong) else None


def _no_shares(fact: DataFact, array: Array, value: Value) -> str | None:
    number, flat = amount(fact, value), array.reshape(-1)
    negative = np.flatnonzero(flat < 0)
    if len(negative):
        return f"{_element(fact.array, array, int(negative[0]))} is negative"
    total = sum(map(int, flat))
    return f"the sum of {fact.array} is {total}, more than {number}" if total > number else None


_CHECKS: Final[Mapping[str, Callable[[DataFact, Array, Value], str | None]]] = {
    "range": _outside_range,
    "injective": _repeated,
    "disjoint_rows": _repeated,
    "permutation": _no_permutation,
    "nondecreasing": _falling,
    "multiples": _no_multiple,
    "shares": _no_shares,
}


def _meeting(fact: DataFact, starts: Array, lengths: Array, value: Value) -> str | None:
    """A segment that leaves the bounds, or two that meet; only numbers that both arrays have make one."""

    def segment(i: int) -> str:
        return f"[{fact.array}[{i}], {fact.array}[{i}] + {fact.other}[{i}]) = [{starts[i]}, {starts[i] + lengths[i]})"

    if len(negative := np.flatnonzero(lengths < 0)):
        return f"{_element(str(fact.other), lengths, int(negative[0]))} is negative"
    numbers = [i for i in range(min(len(starts), len(lengths))) if lengths[i] > 0]
    starts, lengths = (array.astype(object) for array in (starts, lengths))
    if fact.low is not None:
        low, high = bounds(fact, 0, value)
        for i in numbers:
            if starts[i] < low or starts[i] + lengths[i] > high:
                return f"{segment(i)} is not inside [{low}, {high})"
    numbers.sort(key=lambda i: int(starts[i]))
    for i, j in pairwise(numbers):
        if starts[j] < starts[i] + lengths[i]:
            return f"{segment(i)} meets {segment(j)}"
    return None


def _numbers(fact: DataFact, flat: Array, value: Value) -> Array:
    """The excused values that the type can hold."""
    limits = np.iinfo(flat.dtype)
    numbers = [number for number in map(value, fact.unless) if limits.min <= number <= limits.max]
    return np.asarray(numbers, dtype=flat.dtype)


def _outside(flat: Array, low: int, high: int) -> Array:
    """Which elements are not in [low, high), numbers that the type may not hold."""
    limits = np.iinfo(flat.dtype)
    if high <= limits.min or low > limits.max:
        return np.ones(flat.shape, np.bool_)
    least, most = (flat.dtype.type(limit) for limit in (max(low, limits.min), min(high - 1, limits.max)))
    return np.asarray((flat < least) | (flat > most))


def _element(name: str, array: Array, place: int, *, value: bool = True) -> str:
    index = ", ".join(str(int(i)) for i in np.unravel_index(place, array.shape))
    return f"{name}[{index}]" + (f" = {array.reshape(-1)[place]}" if value else "")
