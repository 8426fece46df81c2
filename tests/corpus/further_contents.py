"""Contents of index arrays of which more holds than the contract's facts say.

A user could declare such a further fact.  Where a fault shows without it and not under it, the fact is what is missing:
values in a narrow part of their range or above 0, alike, rising, multiples, few to share out, segments with gaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tileverify.backend.numbers.inputs import generated, violation
from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import DataFact, Expression, LaunchSpec, Number
from tileverify.system.errors import UsageError

TRIES = 4
"""Further facts that are tried until one agrees with those of the contract."""

NEAR = (0, 1, 2, 3)
MULTIPLES = (2, 4, 8, 16, 32, 64)


def further_contents(
    name: str, dtype: str, shape: Sequence[int], spec: LaunchSpec, values: Mapping[str, int], source: Random,
    known: Mapping[str, NDArray[Any]],
) -> NDArray[Any] | None:  # fmt: skip
    """Contents that keep the contract's facts on the array and something further; ``None`` if none were found.

    ``values`` are the numbers of the launch, ``known`` the contents of arrays that were filled before.
    """
    facts = [fact for fact in spec.data if name in fact.arrays]
    own = [fact for fact in facts if fact.array == name and (not fact.others or fact.others[0] in known)]

    segments = [fact for fact in own if fact.kind == "segments"]

    def value(expression: Expression) -> int:
        return evaluate(expression, values)

    amounts = any(fact.kind == "shares" or (fact.kind == "segments" and name in fact.others) for fact in facts)
    follows = any(fact.kind in ("ranks", "buckets") for fact in own)
    for _ in range(TRIES):
        made: NDArray[Any] | Sequence[int] | None
        if amounts:
            made = _parts(prod(shape), _total(facts, value), source)
        elif follows:
            made = _drawn(name, dtype, shape, own, value, source, known)
        elif segments:
            made = _with_gaps(prod(shape), segments[0], known, value, source)
        elif source.random() < 0.25:
            made = _in_steps(prod(shape), facts, values, source)
        else:
            made = _drawn(name, dtype, shape, [*_narrowed(name, prod(shape), facts, values, source)], value, source)
        if made is None:
            continue
        array = np.asarray(made, object).astype(np.int64).reshape(shape)
        if all(violation(fact, {**known, name: array}, value) is None for fact in own):
            return array.reshape(-1)
    return None


def _narrowed(
    name: str, count: int, facts: Sequence[DataFact], values: Mapping[str, int], source: Random
) -> Iterator[DataFact]:
    """The facts, one or two more, and a narrower range instead of the array's own."""
    ranges = [fact for fact in facts if fact.kind == "range" and fact.low is not None and fact.high is not None]
    low = max((evaluate(fact.low, values) for fact in ranges if fact.low is not None), default=0)
    sizes = [number for number in values.values() if number > 0]
    high = min(
        (evaluate(fact.high, values) for fact in ranges if fact.high is not None),
        default=max(2 * count, *sizes) if sizes else 2 * count,
    )
    begin = max(low, source.choice((*NEAR, low, low + (high - low) // 2, high - count, high - 1)))
    width = source.choice((*NEAR[1:], count, 2 * count, (high - low) // 2, high - low, *sizes))
    end = max(begin + 1, min(begin + width, high))
    narrower = DataFact("range", name, Number(begin), Number(end))
    yield from (replace(fact, low=Number(begin), high=Number(end)) if fact in ranges else fact for fact in facts)
    if not ranges and source.random() < 0.7:
        yield narrower
    for kind in ("nondecreasing", "injective"):
        if source.random() < 0.2:
            yield DataFact(kind, name)
    if source.random() < 0.2:
        yield DataFact("multiples", name, amount=Number(source.choice(MULTIPLES)))


def _in_steps(
    count: int, facts: Sequence[DataFact], values: Mapping[str, int], source: Random
) -> Sequence[int]:  # fmt: skip
    """One value up to somewhere, another from there on: all that there is belongs to one."""
    step = max((evaluate(fact.amount, values) for fact in facts if fact.kind == "multiples" and fact.amount), default=1)
    low, high = (
        source.choice((0, 1, number, number - 1, number // 2)) for number in source.choices([*values.values()], k=2)
    )
    change = source.randrange(count + 1)
    return [low // step * step] * change + [high // step * step] * (count - change)


def _drawn(
    name: str, dtype: str, shape: Sequence[int], facts: Sequence[DataFact], value: Any, source: Random,
    known: Mapping[str, NDArray[Any]] | None = None,
) -> NDArray[Any] | None:  # fmt: skip
    try:
        return np.asarray(generated(name, dtype, shape, facts, value, source.randrange(1 << 30), known or {}))
    except UsageError:
        return None


def _total(facts: Sequence[DataFact], value: Any) -> int | None:
    """What all values together may come to, where a fact says so."""
    totals = [value(fact.amount) for fact in facts if fact.kind == "shares"]
    totals += [value(f.high) - value(f.low) for f in facts if f.others and f.high is not None]
    return min(totals, default=None)


def _parts(count: int, total: int | None, source: Random) -> Sequence[int]:
    """Amounts: all alike, one that is not 0, one that is 0, drawn; of a part of what there is."""
    room = max(4 * count if total is None else total, 0)
    share = room // source.choice((1, 1, 2, 4))
    each, one = share // max(count, 1), source.randrange(max(count, 1))
    ends = sorted(source.randint(0, share) for _ in range(count))
    return source.choice(
        (
            [each] * count,
            [min(each, 1)] * count,
            [share if i == one else 0 for i in range(count)],
            [0 if i == one else each for i in range(count)],
            [min(share, 1) if i == one else 0 for i in range(count)],
            [0 if (i + one) % 2 else each for i in range(count)],
            [end - start for start, end in zip([0, *ends], ends, strict=False)],
        )
    )


def _with_gaps(
    count: int, fact: DataFact, known: Mapping[str, NDArray[Any]], value: Any, source: Random
) -> Sequence[int]:
    """Starts of segments in any order, with what room is left between them."""
    assert fact.others
    lengths = [int(number) for number in known[fact.others[0]].reshape(-1)[:count]]
    low = 0 if fact.low is None else value(fact.low)
    high = low + 2 * sum(lengths) + count if fact.high is None else value(fact.high)
    left = max(high - low - sum(lengths), 0) // source.choice((1, 2, 1 << 30))
    gaps = sorted(source.randint(0, left) for _ in lengths)
    order = source.choice((range(len(lengths)), source.sample(range(len(lengths)), len(lengths))))
    starts, begin = [source.choice((low, high))] * count, low
    for gap, i in zip(gaps, order, strict=True):
        starts[i] = begin + gap
        begin += lengths[i]
    return starts
