"""Contents of index arrays under facts that say more than a range, an order or that values differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileverify.backend.numbers.inputs import generated, violation
from tileverify.contract.expressions import evaluate
from tileverify.contract.facts.statements import Value
from tileverify.contract.launch import DataFact, Expression, LaunchSpec, Number

_OF_KEYS = {"ranks", "buckets"}
"""What follows from keys, of which it says nothing."""

_SIMPLE = {"range", "injective", "permutation", "nondecreasing"}


def as_observed(spec: LaunchSpec) -> LaunchSpec:
    """What was observed of the arrays holds in the launches that are drawn, as what is said of them does."""
    return replace(spec, data=(*spec.data, *spec.observed), observed=())


def said(name: str, spec: LaunchSpec) -> list[DataFact]:
    """The facts in which the array occurs."""
    return [fact for fact in spec.data if name in fact.arrays]


def has_rich_facts(name: str, spec: LaunchSpec) -> bool:
    """Whether a fact on this array is no plain range, order, permutation or injectivity."""
    return any(
        fact.kind not in _SIMPLE or fact.unless or (fact.kind == "injective" and fact.low is not None)
        for fact in said(name, spec)
    )


def starts_last(spec: LaunchSpec) -> list[str]:
    """The arrays of the launch in an order in which they can be filled: starts of segments behind their lengths."""
    starts = {fact.array for fact in spec.data if fact.others}
    return sorted((array.name for array in spec.arrays()), key=lambda name: name in starts)


def rich_contents(
    name: str, dtype: str, shape: Sequence[int], spec: LaunchSpec, values: Mapping[str, int], seed: int,
    known: Mapping[str, NDArray[Any]], variant: int = 0,
) -> NDArray[Any]:  # fmt: skip
    """Contents that keep all facts on the array; ``known`` holds those of arrays filled before.

    ``variant``: 1 to 3 are regular where the facts admit that (see `_regular`), all others are drawn.
    """
    facts = said(name, spec)

    def value(expression: Expression) -> int:
        return evaluate(expression, values)

    for regular in _regular(name, shape, facts, value, known, variant):
        made = np.asarray(regular, np.int64).reshape(shape)
        spoken = [fact for fact in facts if fact.array == name and (not fact.others or fact.others[0] in known)]
        if all(violation(fact, {**known, name: made}, value) is None for fact in spoken):
            return made.reshape(-1)
    return np.asarray(generated(name, dtype, shape, facts, value, seed, known)).reshape(-1)


def _regular(
    name: str, shape: Sequence[int], facts: Sequence[DataFact], value: Value, known: Mapping[str, NDArray[Any]],
    variant: int,
) -> Iterator[Sequence[int]]:  # fmt: skip
    """Rising tightly (1), spread out (2), two values, one a row, or falling (3); amounts above 0 where they can be."""
    joined = [fact for fact in facts if fact.others and fact.kind != "segments"]
    if variant not in (1, 2, 3) or any(fact.array == name or fact.kind not in _OF_KEYS for fact in joined):
        return
    facts = [fact for fact in facts if fact not in joined]
    count, width = prod(shape), shape[-1] if shape else 1
    low, high, step = 0, 4 * max(count, 1), 1
    for fact in facts:
        if fact.kind == "multiples":
            step = value(fact.amount or Number(1))
        elif fact.kind == "shares":
            part = value(fact.amount or Number(0)) // max(variant * count, 1)
            yield [part if variant in (1, 2) else min(part, 1)] * count
            return
        elif fact.low is not None and fact.high is not None:
            low, high = value(fact.low), value(fact.high)
    for fact in facts:
        if fact.others:
            yield from _of_segments(name, fact, count, low, high, known, variant)
            return
    if variant == 1:
        yield [low + step * i for i in range(count)]
    if variant == 2:
        spacing = max(1, (high - low) // max(count, 1) // step) * step
        yield [low + spacing * i for i in range(count)]
    if variant == 3:
        yield [low + step * (2 * i // count if width == count else i // width) for i in range(count)]
        yield [high - 1 - i for i in range(count)]


def _of_segments(
    name: str, fact: DataFact, count: int, low: int, high: int, known: Mapping[str, NDArray[Any]], variant: int
) -> Iterator[Sequence[int]]:
    """One behind the other (1), with gaps (2), the last one first (3)."""
    if name in fact.others:
        yield [max((high - low) // ((2 if variant == 2 else 1) * max(count, 1)), 0)] * count
    elif fact.others and fact.others[0] in known:
        lengths = [int(n) for n in known[fact.others[0]][:count]]
        own = lengths + [0] * (count - len(lengths))
        if variant == 2:
            yield [low + (high - low) // max(len(lengths), 1) * i if i < len(lengths) else high for i in range(count)]
        elif variant == 3:
            yield [low + sum(own[i + 1 :]) for i in range(count)]
        else:
            yield [low + sum(own[:i]) for i in range(count)]
