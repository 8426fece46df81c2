"""The standing facts: what holds of the numbers of every launch, whatever its contract adds (``docs/specs.md``).

    0 <= size, stride <= the largest index of their width        0 <= length of a list < 2**31
    least <= scalar <= largest of its type                       1 <= grid axis <= `GRID_MAX`

Terms (`as_terms`), checks of a launch (`backend.guard`) and conditions on numbers (`backend.numbers.conditions`) are
readings of them.  What keeps the elements of an array apart is in `strides`, who may share memory in `overlap`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .contiguous import strides_of
from .element_types import ELEMENT_TYPES, INDEX_MAX, LENGTH_BITS
from .expressions import GRID_NAMES
from .launch import GRID_MAX, ArrayArgument, Expression, ListArgument, Name, ScalarArgument


@dataclass(frozen=True, slots=True)
class NumberRange:
    """``low <= n <= high`` of a number that a launch passes.

    ``name``: what the kernel calls it, such as ``a.shape[0]``.  ``meaning``: what the contract says it is, over the
    contract's own names.
    """

    name: str
    meaning: Expression
    low: int
    high: int


def array_ranges(array: ArrayArgument) -> Iterator[tuple[NumberRange, NumberRange]]:
    """Of every dimension, the range of the size and that of the stride in elements."""
    most = INDEX_MAX[array.index_bits]
    for dim, (size, stride) in enumerate(zip(array.shape, strides_of(array), strict=True)):
        yield (
            NumberRange(f"{array.name}.shape[{dim}]", size, 0, most),
            NumberRange(f"{array.name}.strides[{dim}]", stride, 0, most),
        )


def scalar_range(scalar: ScalarArgument) -> NumberRange | None:
    """Of an integer or a bool as the contract names it; ``None`` for a float, of which nothing is known."""
    element = ELEMENT_TYPES[scalar.dtype]
    if element.kind == "f":
        return None
    meaning = Name(scalar.name) if scalar.value is None else scalar.value
    return NumberRange(scalar.name, meaning, *element.limits)


def length_range(listed: ListArgument) -> NumberRange:
    """Of the number of arrays in a list."""
    return NumberRange(f"{listed.name}.length", listed.length, 0, INDEX_MAX[LENGTH_BITS])


def grid_ranges(grid: Sequence[Expression] | None) -> Iterator[NumberRange]:
    """Of each axis; without a ``grid`` an axis is what it is."""
    for name, axis in zip(GRID_NAMES, grid or map(Name, GRID_NAMES), strict=True):
        yield NumberRange(name, axis, 1, GRID_MAX)
