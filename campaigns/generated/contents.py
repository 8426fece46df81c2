"""What the index arrays of a launch may hold: some of the contents that keep all facts, the same for equal questions.

Many launches of a contract ask for the contents of the same arrays, and many contracts do; answers are remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from random import Random
from typing import TypeVar

import numpy as np
from tests.facts import keeps

from tileverify.contract.expressions import evaluate
from tileverify.contract.launch import DataFact, Expression, expressions_of

T = TypeVar("T")

MOST_CONTENTS = 9
"""Contents of all index arrays together that are tried; of more, as many are drawn."""
MOST_EACH = 1 << 12
"""Contents of one array that are looked through."""
MOST_TOGETHER = 96
"""Contents of one array that are combined with those of the others."""
WITHOUT_FACT = (0, 1, -1, 2, 127, -128)
"""Contents of arrays of which no fact is known; all are tried on arrays of one element."""
FLOATS = (0x3F800000, 0, 0x40000000, 0xBF800000)
"""The same for f32: 1, 0, 2 and -1 as bits."""


@dataclass(frozen=True, slots=True)
class IndexArray:
    """``count``: elements from its first to behind its last."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    count: int


Contents = Mapping[str, Mapping[int, int]]


def contents(arrays: Sequence[IndexArray], facts: Sequence[DataFact], names: Mapping[str, int]) -> Sequence[Contents]:
    """Contents by array, by element; ``names`` gives the numbers that facts speak of."""
    parts = {part for fact in facts for part in expressions_of(fact)}
    numbers = frozenset((part, evaluate(part, names)) for part in parts)
    return _contents(tuple(arrays), tuple(facts), numbers)


def looked_through(array: IndexArray, facts: Sequence[DataFact], names: Mapping[str, int]) -> bool:
    """Whether all contents of the array that may keep its facts are looked through: none found is none there."""
    own = [fact for fact in facts if fact.array == array.name and not fact.others]
    values = _values(array, own, {part: evaluate(part, names) for fact in own for part in expressions_of(fact)})
    bounded = array.count == 0 or any(fact.kind in ("range", "permutation") for fact in own)
    return bounded and len(values) ** array.count <= MOST_EACH


@lru_cache(maxsize=1 << 12)
def _contents(
    arrays: tuple[IndexArray, ...], facts: tuple[DataFact, ...], numbers: frozenset[tuple[Expression, int]]
) -> Sequence[Contents]:
    known = dict(numbers)
    joint = [fact for fact in facts if fact.others]
    choices = []
    for array in arrays:
        own = tuple(fact for fact in facts if fact.array == array.name and not fact.others)
        kept = _of_one(array, own, frozenset((part, known[part]) for fact in own for part in expressions_of(fact)))
        choices.append(_some(kept, MOST_TOGETHER if joint else MOST_CONTENTS))
    shapes = {array.name: array.shape for array in arrays}
    found = []
    for chosen in product(*choices):
        together = dict(zip(shapes, chosen, strict=True))
        if all(_keeps(fact, together, shapes, known) for fact in joint):
            found.append(together)
    return _some(found, MOST_CONTENTS)


@lru_cache(maxsize=1 << 14)
def _of_one(
    array: IndexArray, facts: tuple[DataFact, ...], numbers: frozenset[tuple[Expression, int]]
) -> Sequence[Mapping[int, int]]:
    known = dict(numbers)
    values, count = _values(array, facts, known), array.count
    if len(values) ** count > MOST_EACH:
        every = [tuple(values[(i * k + k) % len(values)] for i in range(count)) for k in range(1, 12)]
    else:
        every = list(product(values, repeat=count))
    shapes = {array.name: array.shape}
    found = (dict(enumerate(each)) for each in every)
    return [each for each in found if all(_keeps(fact, {array.name: each}, shapes, known) for fact in facts)]


def _values(array: IndexArray, facts: Sequence[DataFact], known: Mapping[Expression, int]) -> Sequence[int]:
    """The values that an element may have, or some of them where no fact bounds it."""
    values: Sequence[int] = FLOATS if array.dtype == "f32" else WITHOUT_FACT
    for fact in facts:
        if fact.kind == "range":
            assert fact.low is not None
            assert fact.high is not None
            values = [*range(known[fact.low], known[fact.high]), *(known[x] for x in fact.unless)]
        elif fact.kind == "permutation":
            values = range(array.count)
    return values


def _keeps(
    fact: DataFact, held: Contents, shapes: Mapping[str, tuple[int, ...]], known: Mapping[Expression, int]
) -> bool:
    arrays = {
        name: np.array(list(values.values()), dtype=np.int64).reshape(shapes[name]) for name, values in held.items()
    }
    return keeps(fact, arrays, known.__getitem__)


def _some(choices: Sequence[T], most: int) -> Sequence[T]:
    """Not too many of them: the first, the last, and drawn ones, always the same."""
    if len(choices) <= most:
        return choices
    between = Random(len(choices)).sample(range(1, len(choices) - 1), most - 2)
    return [choices[place] for place in (0, *sorted(between), len(choices) - 1)]
