"""What the checks of contents on the host share.

NumPy is imported where contents are looked at: whoever reads a spec needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ..launch import DataFact, Expression

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"

Value: TypeAlias = Callable[[Expression], int]
"""The number that an expression of a launch has."""

Contents: TypeAlias = Mapping[str, Array]
"""What arrays hold, by name."""


def bounds(fact: DataFact, count: int, value: Value) -> tuple[int, int]:
    """The low (inclusive) and the high end (exclusive) of a fact; of a permutation of ``count`` elements its own."""
    low = 0 if fact.low is None else value(fact.low)
    return low, count if fact.high is None else value(fact.high)


def amount(fact: DataFact, value: Value) -> int:
    """The ``n`` of a fact that has one."""
    assert fact.amount is not None
    return value(fact.amount)


def excused(fact: DataFact, flat: Array, value: Value) -> Array:
    """The excused values that the type can hold."""
    import numpy as np

    limits = np.iinfo(flat.dtype)
    numbers = [number for number in map(value, fact.unless) if limits.min <= number <= limits.max]
    return np.asarray(numbers, dtype=flat.dtype)


def outside(flat: Array, low: int, high: int) -> Array:
    """Which elements are not in [low, high), numbers that the type may not hold."""
    import numpy as np

    limits = np.iinfo(flat.dtype)
    if high <= limits.min or low > limits.max:
        return np.ones(flat.shape, np.bool_)
    least, most = (flat.dtype.type(limit) for limit in (max(low, limits.min), min(high - 1, limits.max)))
    return np.asarray((flat < least) | (flat > most))


def outside_range(fact: DataFact, array: Array, value: Value) -> str | None:
    """The first element that is neither within the fact's bounds nor excused."""
    import numpy as np

    flat = array.reshape(-1)
    low, high = bounds(fact, flat.size, value)
    spared = np.isin(flat, excused(fact, flat, value))
    places = np.flatnonzero(outside(flat, low, high) & ~spared)
    return f"{element(fact.array, array, int(places[0]))} is not in [{low}, {high})" if len(places) else None


def element(name: str, array: Array, place: int, *, value: bool = True) -> str:
    """An element by its index, with its value: ``idx[2, 0] = 7``."""
    import numpy as np

    index = ", ".join(str(int(i)) for i in np.unravel_index(place, array.shape))
    return f"{name}[{index}]" + (f" = {array.reshape(-1)[place]}" if value else "")
