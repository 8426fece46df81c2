"""How large launches are, and what they cost the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from .conditions import ContractInNumbers


def extent(contract: ContractInNumbers, values: Mapping[str, int]) -> tuple[int, int]:
    """Elements of all arrays, and blocks."""
    shapes = [[contract.value(size, values) for size in array.shape] for array in contract.spec.arrays()]
    return sum(map(prod, shapes)), prod(contract.value(axis, values) for axis in contract.grid)


def cost(contract: ContractInNumbers, values: Mapping[str, int]) -> int:
    """About the time that the launch takes in the interpreter, in elements."""
    elements, blocks = extent(contract, values)
    return elements + 64 * blocks
