"""Contents of the arrays of a launch: generated ones that keep the data facts of the contract, and a check of given
ones against them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final

import numpy as np

from ..errors import UsageError
from ..frontend.sources.element_types import ELEMENT_TYPES
from ..frontend.sources.launch import DataFact, Expression
from .elements import Array, rounded, storage_type

Value = Callable[[Expression], int]

INTEGERS: Final = (0, 16)
"""Integers that no fact speaks of lie in this range, the end excluded."""


def generated(name: str, dtype: str, shape: Sequence[int], facts: Sequence[DataFact], value: Value, seed: int) -> Array:
    """Random contents, the same for the same seed, name and shape; stored elements (see `elements`).

    Floats are normally distributed.  :raises UsageError: no contents satisfy the facts.
    """
    source = np.random.default_rng([seed, zlib.crc32(name.encode())])
    count = prod(shape)
    element = ELEMENT_TYPES[dtype]
    if element.kind == "f":
        return rounded(source.standard_normal(count), dtype).reshape(shape)
    if element.kind == "bool":
        return np.asarray(source.integers(0, 2, count) == 1).reshape(shape)
    kinds = {fact.kind for fact in facts}
    low, high = _range(dtype, count, facts, value)
    if count and high <= low:
        raise UsageError(f"no contents of {name} satisfy {_texts(facts)}: the range is empty")
    if kinds & {"injective", "permutation"}:
        if high - low < count:
            raise UsageError(f"{name} has {count} elements, but {_texts(facts)} leaves {high - low} different values")
        chosen = source.permutation(count) if high - low == count else source.choice(high - low, count, replace=False)
        values = chosen.astype(object) + low
    else:
        values = source.integers(low, high, count, dtype=np.uint64 if dtype == "u64" else np.int64)
    if "nondecreasing" in kinds:
        values = np.sort(values)
    return np.asarray(values).astype(storage_type(dtype)).reshape(shape)


def _range(dtype: str, count: int, facts: Sequence[DataFact], value: Value) -> tuple[int, int]:
    """Where the values may lie: all that the facts demand, else small numbers."""
    bits = ELEMENT_TYPES[dtype].bits
    limits = (0, 1 << bits) if dtype[0] == "u" else (-(1 << (bits - 1)), 1 << (bits - 1))
    ranges = [_bounds(fact, count, value) for fact in facts if fact.kind in ("range", "permutation")]
    if not ranges:
        injective = any(fact.kind == "injective" for fact in facts)
        ranges = [(INTEGERS[0], max(INTEGERS[1], count if injective else 0))]
    low = max(limits[0], *(low for low, _ in ranges))
    return low, min(limits[1], *(high for _, high in ranges))


def _bounds(fact: DataFact, count: int, value: Value) -> tuple[int, int]:
    low = 0 if fact.low is None else value(fact.low)
    return low, count if fact.high is None else value(fact.high)


def _texts(facts: Sequence[DataFact]) -> str:
    return " and ".join(fact.text or f"{fact.kind}({fact.array})" for fact in facts)


def check_facts(contents: Mapping[str, Array], facts: Sequence[DataFact], value: Value) -> None:
    """Raises `UsageError` with the fact, the element and its value where contents break a data fact."""
    for fact in facts:
        array = contents[fact.array]
        problem = _violation(fact, array, value)
        if problem is not None:
            raise UsageError(f"the launch is outside the contract: '{_texts([fact])}' does not hold, {problem}")


def _violation(fact: DataFact, array: Array, value: Value) -> str | None:
    flat = array.reshape(-1)
    if fact.kind in ("range", "permutation"):
        low, high = _bounds(fact, flat.size, value)
        outside = np.flatnonzero(_outside(flat, low, high))
        if len(outside):
            return f"{_element(fact.array, array, int(outside[0]))} is not in [{low}, {high})"
    if fact.kind in ("injective", "permutation"):
        order = np.argsort(flat, kind="stable")
        twice = np.flatnonzero(flat[order][1:] == flat[order][:-1])
        if len(twice):
            first, second = (int(order[twice[0] + k]) for k in (0, 1))
            return f"{_element(fact.array, array, first)} is also {_element(fact.array, array, second, value=False)}"
    if fact.kind == "nondecreasing" and array.ndim == 1:
        falls = np.flatnonzero(flat[1:] < flat[:-1])
        if len(falls):
            place = int(falls[0]) + 1
            return f"{_element(fact.array, array, place)} follows {flat[place - 1]}"
    return None


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
