"""Columns of integers, exact whatever their types: what formulas compute of whole arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"

Column: TypeAlias = "Array | int"
"""A value for each place, or the same for all."""

ORDERS: Final[Mapping[str, Callable[[Column, Column], Column]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_TURNED: Final[Mapping[str, Callable[[Column, Column], Column]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.gt, "<=": operator.ge,
}  # fmt: skip
COMPUTED: Final[Mapping[str, Callable[[Column, Column], Column]]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip
_FAR: Final = 1 << 61
"""Numbers up to here have sums in 64 bits; all else is computed with Python's integers."""


def both(a: Column, b: Column) -> Array:
    import numpy as np

    return np.asarray(np.logical_and(a, b))


def either(a: Column, b: Column) -> Array:
    import numpy as np

    return np.asarray(np.logical_or(a, b))


def _wide(column: Column) -> Column:
    """In 64 bits, where sums of two stay exact there; otherwise as Python's integers."""
    import numpy as np

    if isinstance(column, int):
        return column
    column = np.asarray(column)
    if column.dtype == object:
        return column
    if column.dtype.itemsize == 8 and column.size and (int(column.max()) > _FAR or int(column.min()) < -_FAR):
        return column.astype(object)
    return column.astype(np.int64)


def exact(op: str, left: Column, right: Column) -> Column:
    """``left op right`` without a wrap."""
    left, right = _wide(left), _wide(right)
    numbers = [each for each in (left, right) if isinstance(each, int)]
    if len(numbers) < 2 and (op == "*" or any(abs(number) > _FAR for number in numbers)):
        left, right = (each if isinstance(each, int) else each.astype(object) for each in (left, right))
    return COMPUTED[op](left, right)


def compared(op: str, left: Column, right: Column) -> Column:
    """``left op right`` of integers of any types."""
    import numpy as np

    if isinstance(left, int):
        return ORDERS[op](left, right) if isinstance(right, int) else _with_number(_TURNED[op], right, left)
    if isinstance(right, int):
        return _with_number(ORDERS[op], left, right)
    if left.dtype != right.dtype:
        left, right = _wide(left), _wide(right)
    return np.asarray(ORDERS[op](left, right), np.bool_)


def _with_number(order: Callable[[Column, Column], Column], column: Array, number: int) -> Column:
    import numpy as np

    if column.dtype == object:
        return np.asarray(order(column, number), np.bool_)
    limits = np.iinfo(column.dtype)
    if limits.min <= number <= limits.max:
        return order(column, column.dtype.type(number))
    return np.full(column.shape, order(0, 1 if number > limits.max else -1), np.bool_)


def among(column: Array, numbers: frozenset[int]) -> Array:
    """Where a value is one of ``numbers``."""
    import numpy as np

    if not numbers:
        return np.zeros(column.shape, np.bool_)
    if column.dtype == object:
        return np.isin(column, np.asarray([*numbers], object))
    limits = np.iinfo(column.dtype)
    held = [number for number in numbers if limits.min <= number <= limits.max]
    return np.isin(column, np.asarray(held, dtype=column.dtype))


def total(array: Array) -> int:
    import numpy as np

    flat = array.reshape(-1)
    if not len(flat):
        return 0
    far = max(abs(int(flat.max())), abs(int(flat.min())))
    return int(flat.astype(np.int64).sum()) if far * len(flat) < 1 << 63 else sum(map(int, flat))


def numbered_lines(array: Array) -> Array:
    """A number for each row along the last axis; equal rows, and only these, have the same."""
    import numpy as np

    rows = array.reshape(array.size // max(1, array.shape[-1]), array.shape[-1])
    numbers = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values = np.unique(column, return_inverse=True)[1].reshape(-1)
        numbers = np.unique(numbers * len(rows) + values, return_inverse=True)[1].reshape(-1)
    return numbers


def counted(keys: Array, n: int, chunk: Column, key: Column) -> Array:
    """How many elements of a chunk of n hold a key, for each chunk and key."""
    import numpy as np

    flat = keys.reshape(-1)
    chunks, wanted = np.broadcast_arrays(np.asarray(chunk), np.asarray(key))
    if not len(flat):
        return np.zeros(chunks.shape, np.int64)
    if flat.dtype != wanted.dtype:
        flat, wanted = np.asarray(_wide(flat)), np.asarray(_wide(wanted))
    values, number = np.unique(flat, return_inverse=True)
    own = np.arange(len(flat), dtype=np.int64) // min(n, len(flat))
    codes, counts = np.unique(own * len(values) + number.reshape(-1), return_counts=True)
    place = np.clip(np.searchsorted(values, wanted), 0, len(values) - 1)
    real = (values[place] == wanted) & (chunks >= 0) & (chunks <= int(own[-1]))
    code = np.where(real, chunks, 0).astype(np.int64) * len(values) + place
    found = np.clip(np.searchsorted(codes, code), 0, len(codes) - 1)
    return np.where(real & (codes[found] == code), counts[found], 0)
