"""The strides of an array in elements, also where its description leaves them out."""

from __future__ import annotations

from collections.abc import Sequence

from .launch import Apply, ArrayArgument, Expression, Number


def contiguous_strides(shape: Sequence[Expression]) -> tuple[Expression, ...]:
    """The row-major strides of a shape, in elements: the last is 1, each other the product of the sizes after it."""
    strides: list[Expression] = []
    product: Expression = Number(1)
    for size in reversed(shape):
        strides.append(product)
        product = size if product == Number(1) else Apply("*", (size, product))
    return tuple(reversed(strides))


def strides_of(array: ArrayArgument) -> tuple[Expression, ...]:
    """The strides of an array in elements, also where the description leaves them out."""
    return contiguous_strides(array.shape) if array.strides is None else array.strides
