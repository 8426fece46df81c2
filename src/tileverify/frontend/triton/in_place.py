"""Kernels that work in place on a tensor that is passed twice: its strides are passed twice, too.

That a store follows the load of the same element then rests on equal strides.  They are equal in the launch at hand,
so that the launch requires it, of the fewest scalars that give the store its order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations

from ...contract.expression_parser import parse_condition
from ...contract.launch import LaunchSpec, Number, ScalarArgument
from ..bytecode.encoder import encode
from ..bytecode.model import Module

MOST_SCALARS = 24
"""Of more scalars with a number no equality is looked for."""


def with_equal_scalars(
    spec: LaunchSpec, made: Module, translated: Callable[[Mapping[int, int]], Module]
) -> tuple[LaunchSpec, Mapping[int, int]]:
    """``spec`` with the equalities of scalars that order more accesses than ``made`` has ordered, and the parameters
    that may stand for others by them (by position), as ``translated`` takes them."""
    equal = _equal(spec)
    if not equal or encode(translated(equal)) == encode(made):
        return spec, {}
    most = encode(translated(equal))
    for position in list(equal):
        fewer = {each: first for each, first in equal.items() if each != position}
        if encode(translated(fewer)) == most:
            equal = fewer
    names = [argument.name for argument in spec.arguments]
    texts = tuple(f"{names[first]} == {names[position]}" for position, first in equal.items())
    requires = (*spec.requires, *map(parse_condition, texts))
    return replace(spec, requires=requires, requires_text=(*spec.requires_text, *texts)), equal


def _equal(spec: LaunchSpec) -> dict[int, int]:
    """For each scalar the first one that has the same number in this launch."""
    numbers = {
        position: (argument.dtype, argument.value)
        for position, argument in enumerate(spec.arguments)
        if isinstance(argument, ScalarArgument) and isinstance(argument.value, Number) and argument.dtype[0] in "iu"
    }
    if len(numbers) > MOST_SCALARS:
        return {}
    found: dict[int, int] = {}
    for first, second in combinations(numbers, 2):
        if numbers[first] == numbers[second] and first not in found:
            found.setdefault(second, first)
    return found
