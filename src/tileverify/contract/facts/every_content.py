"""All contents that the facts on one array allow, where they are few.

    values of an element:   those between its limits that are multiples of its step
    of n elements:          all; rising ones where they never fall; without repetition where no value occurs twice

Only what some fact says of this array alone is used, so the contents may be more than the contract allows, never fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, combinations_with_replacement, permutations, product
from math import comb, perm, prod
from typing import Final

from ..launch import ConcreteArray
from .contents import MOST_ELEMENTS, Described
from .form import DISTINCT
from .kinds import subject_of
from .statements import NumberedFact

MOST_COUNTED: Final = 1 << 10
"""Contents that are looked through for those that keep the facts."""


def every_content(array: ConcreteArray, facts: Sequence[NumberedFact]) -> list[ConcreteArray] | None:
    """The array with each of its contents; ``None`` where they are too many, or nothing bounds them."""
    own = [fact for fact in facts if not fact.others]
    count = prod(array.shape)
    if count > MOST_ELEMENTS or any(fact.unless for fact in own):
        return None
    described = Described.of(array, own)
    values = range(-(-described.low // described.step) * described.step, described.high, described.step)
    if not described.bounded or len(described.places) != count or max(len(values), count) > MOST_ELEMENTS:
        return None
    found = _made(values, described)
    if found is None:
        return None
    kept = (each for each in found if described.kept_by(each))
    return [_holding(array, dict(zip(described.places, each, strict=True))) for each in kept]


def _made(values: range, described: Described) -> Iterable[tuple[int, ...]] | None:
    many, count = len(values), len(described.places)
    rising = described.rising and described.width >= count
    distinct = any(subject_of(fact) in DISTINCT and fact.low is None for fact in described.facts if _of_values(fact))
    if rising and distinct:
        return combinations(values, count) if comb(many, count) <= MOST_COUNTED else None
    if rising:
        fits = comb(max(many + count - 1, 0), count) <= MOST_COUNTED
        return combinations_with_replacement(values, count) if fits else None
    if distinct:
        return permutations(values, count) if perm(many, count) <= MOST_COUNTED else None
    return product(values, repeat=count) if many**count <= MOST_COUNTED else None


def _of_values(fact: NumberedFact) -> bool:
    """No value at all occurs twice under it."""
    return fact.kind in ("injective", "permutation")


def _holding(array: ConcreteArray, contents: dict[int, int]) -> ConcreteArray:
    return ConcreteArray(
        array.dtype, array.shape, array.strides, contents, array.fill, array.allocation, array.byte_offset
    )
