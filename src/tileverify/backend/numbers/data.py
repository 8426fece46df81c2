"""Contents of the arrays of a launch that keep the data facts of the contract."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from math import lcm, prod
from typing import Final

import numpy as np

from ...contract.element_types import ELEMENT_TYPES
from ...contract.facts.contents import Described, every, several
from ...contract.facts.form import DISTINCT, Subject
from ...contract.facts.kept import measured
from ...contract.facts.kinds import meaning_of, subject_of
from ...contract.facts.layouts import hints_of
from ...contract.facts.statements import NumberedFact, Value
from ...contract.launch import ConcreteArray, DataFact
from ...system.errors import UsageError
from .elements import Array, rounded, storage_type
from .fact_checks import texts, violation

INTEGERS: Final = (0, 16)
"""Integers that no fact speaks of lie in this range, the end excluded."""


_DRAWN: Final = DISTINCT | {Subject.LIMITS, Subject.ORDER, Subject.STEPS, Subject.SUM}
"""What facts may speak of whose values are drawn here; of others, the facts make contents (`layouts`)."""


def generated(
    name: str, dtype: str, shape: Sequence[int], facts: Sequence[DataFact], value: Value, seed: int,
    known: Mapping[str, Array],
) -> Array:  # fmt: skip
    """Random contents, the same for the same seed, name and shape; stored elements (see `elements`).

    Floats are normally distributed.  ``known`` are arrays that were filled before: the starts of segments follow from
    their lengths, ranks and buckets from the keys.

    :raises UsageError: no contents satisfy ``facts``, or none were found.
    """
    source = np.random.default_rng([seed, zlib.crc32(name.encode())])
    count = prod(shape)
    element = ELEMENT_TYPES[dtype]
    if element.kind == "f":
        return rounded(source.standard_normal(count), dtype).reshape(shape)
    if element.kind == "bool":
        return np.asarray(source.integers(0, 2, count) == 1).reshape(shape)
    own = [fact for fact in facts if fact.array == name and not fact.others]
    beside = [fact for fact in facts if fact.array == name and fact.others and {*fact.others} <= known.keys()]
    wishes: list[DataFact] = []
    for fact in facts:
        if name in fact.others:
            own += [each for each in _implied(fact) if each.array == name]
            wishes += _room(name, fact, facts) if measured(fact) else []
            roles = dict(zip(meaning_of(fact).form.arrays, fact.arrays, strict=True))
            wishes += [DataFact(kind, name) for kind, role in meaning_of(fact).suited_by if roles[role] == name]
    problem = f"no contents of {name} were found that satisfy {texts([*own, *beside])}"
    for asked in ([*own, *wishes], own) if wishes else (own,):
        try:
            made: Iterable[Array] = (_drawn(source, name, dtype, shape, asked, beside, value, known),)
        except UsageError as error:
            made, problem = (), str(error)
        for values in chain(made, _made(source, dtype, shape, asked, value)):
            contents = values.reshape(shape).astype(storage_type(dtype))
            stored = np.array_equal(contents.astype(object), values.reshape(shape))
            held = {**known, name: contents}
            if stored and all(violation(fact, held, value) is None for fact in (*asked, *beside)):
                return contents
    raise UsageError(problem)


def _implied(fact: DataFact) -> list[DataFact]:
    follows = meaning_of(fact).implied(fact)
    return [] if follows is None else [follows]


def _room(name: str, fact: DataFact, facts: Sequence[DataFact]) -> list[DataFact]:
    """What lengths should keep, so that starts can be found beside them which keep what is said of starts alone: they
    fit one behind the other between the starts' limits, and are multiples of what the starts are multiples of."""
    starts = [each for each in facts if each.array == fact.array and not each.others]
    steps = [replace(each, array=name) for each in starts if subject_of(each) is Subject.STEPS]
    limits = [each for each in (fact, *starts) if each.low is not None and subject_of(each) not in DISTINCT]
    rooms = [replace(fact, low=one.low, high=other.high) for one, other in product(limits, repeat=2)]
    return [*steps, *(follows for room in rooms if room != fact for follows in _implied(room))]


def _drawn(
    source: np.random.Generator, name: str, dtype: str, shape: Sequence[int], own: Sequence[DataFact],
    beside: Sequence[DataFact], value: Value, known: Mapping[str, Array],
) -> Array:  # fmt: skip
    """Contents that keep the facts, unless they meet in a way that nobody has drawn for."""
    count = prod(shape)
    for fact in beside:
        usual = hints_of(fact).usual
        if usual is None:
            continue
        others = ([int(number) for number in known[other].reshape(-1)] for other in fact.others)
        limits = _range(dtype, count, own, value) if _limited(own) else None
        made = usual(NumberedFact.evaluated(fact, value), count, limits, _step(own, value), *others)
        return np.asarray(made, dtype=object)
    if not {subject_of(fact) for fact in own} <= _DRAWN:
        raise UsageError(f"no contents of {name} were found that satisfy {texts(own)}")
    values = _with_gaps(source, name, dtype, count, own, value).reshape(shape)
    return np.sort(values, axis=-1) if any(subject_of(fact) is Subject.ORDER for fact in own) else values


def _made(
    source: np.random.Generator, dtype: str, shape: Sequence[int], facts: Sequence[DataFact], value: Value
) -> Iterator[Array]:
    """Contents that the facts themselves make, in an order that is drawn; then all others, where they are few."""
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    array = ConcreteArray(dtype, tuple(shape), tuple(strides))
    described = Described.of(array, [NumberedFact.evaluated(fact, value) for fact in facts])
    if len(described.places) != prod(shape):  # too many to be given values one by one
        return
    found = several(described)
    for chosen in source.permutation(len(found)):
        yield np.asarray(found[chosen], dtype=object)
    for values in every(described):
        yield np.asarray(values, dtype=object)


GAPS: Final = 0.2
"""The part of the elements that get a value of which the facts say nothing, where there are such values."""


def _with_gaps(
    source: np.random.Generator, name: str, dtype: str, count: int, facts: Sequence[DataFact], value: Value
) -> Array:
    """Contents in which values occur that all facts excuse, if there are any; what is left keeps the facts."""
    gaps = sorted(set.intersection(*({*map(value, fact.unless)} for fact in facts))) if facts else []
    if not gaps:
        return _integers(source, name, dtype, count, facts, value)
    low, high = _range(dtype, count, facts, value)
    least = 0 if high > low else count
    if any(subject_of(fact) in DISTINCT for fact in facts):
        least = max(least, count - max(0, high - low))
    kept = count - max(least, int(np.count_nonzero(source.random(count) < GAPS)))
    filled = [*_integers(source, name, dtype, kept, facts, value)] if kept else []
    chosen = [gaps[k] for k in source.integers(0, len(gaps), count - kept)] + [int(number) for number in filled]
    return source.permutation(np.asarray(chosen, dtype=object))


def _integers(
    source: np.random.Generator, name: str, dtype: str, count: int, facts: Sequence[DataFact], value: Value
) -> Array:
    low, high = _range(dtype, count, facts, value)
    step = _step(facts, value)
    first, last = -(-low // step), (high - 1) // step  # values are multiples of ``step``
    if count and last < first:
        raise UsageError(f"no contents of {name} satisfy {texts(facts)}: the range is empty")
    choices = last - first + 1
    distinct = [fact for fact in facts if subject_of(fact) in DISTINCT]
    if distinct:
        free = [number for number in _repeatable(distinct, first * step, last * step, value) if number % step == 0]
        repeated = max(count - choices, int(np.count_nonzero(source.random(count) < GAPS))) if free else 0
        if choices < count - repeated:
            raise UsageError(f"{name} has {count} elements, but {texts(facts)} leaves {choices} different values")
        kept = count - repeated
        chosen = source.permutation(kept) if choices == kept else source.choice(choices, kept, replace=False)
        values = np.asarray((chosen.astype(object) + first) * step)
        more = np.asarray([free[k] for k in source.integers(0, len(free), repeated)] if free else [], dtype=object)
        return np.concatenate((values, more)) if repeated == 0 else source.permutation(np.concatenate((values, more)))
    totals = [_amount(fact, value) for fact in facts if subject_of(fact) is Subject.SUM]
    if totals:
        spare = min(totals) // step - count * first  # what is left when each has the least that it may have
        if spare < 0:
            raise UsageError(f"no contents of {name} satisfy {texts(facts)}: the least values come to more")
        cuts = np.sort(source.integers(0, spare + 1, count))
        return (first + np.minimum(np.diff(cuts, prepend=0), last - first)).astype(object) * step
    return source.integers(first, last + 1, count, dtype=np.uint64 if dtype == "u64" else np.int64) * step


def _repeatable(distinct: Sequence[DataFact], low: int, high: int, value: Value) -> list[int]:
    """Values from ``low`` to ``high`` that may occur more than once."""
    said = [NumberedFact.evaluated(fact, value) for fact in distinct]
    near = {end for fact in said for end in (fact.low, fact.high) if end is not None}
    candidates = {low, high, *near, *(number - 1 for number in near), *(x for fact in said for x in fact.unless)}

    def meant(fact: NumberedFact, number: int) -> bool:
        within = fact.low is None or fact.high is None or fact.low <= number < fact.high
        return within and number not in fact.unless

    return sorted(n for n in candidates if low <= n <= high and not any(meant(fact, n) for fact in said))


def _limited(facts: Sequence[DataFact]) -> bool:
    return any(meaning_of(fact).bounded for fact in facts)


def _range(dtype: str, count: int, facts: Sequence[DataFact], value: Value) -> tuple[int, int]:
    """Where the values may lie: all that the facts demand, else small numbers."""
    bits = ELEMENT_TYPES[dtype].bits
    limits = (0, 1 << bits) if dtype[0] == "u" else (-(1 << (bits - 1)), 1 << (bits - 1))
    found = (meaning_of(fact).limits(NumberedFact.evaluated(fact, value), count) for fact in facts)
    ranges = [ends for ends in found if ends is not None]
    if not ranges:
        distinct = any(subject_of(fact) in DISTINCT for fact in facts)
        ranges = [(INTEGERS[0], _step(facts, value) * max(INTEGERS[1], count if distinct else 0))]
    low = max(limits[0], *(low for low, _ in ranges))
    return low, min(limits[1], *(high for _, high in ranges))


def _amount(fact: DataFact, value: Value) -> int:
    assert fact.amount is not None
    return value(fact.amount)


def _step(facts: Sequence[DataFact], value: Value) -> int:
    return lcm(*(_amount(fact, value) for fact in facts if subject_of(fact) is Subject.STEPS))
