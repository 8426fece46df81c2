"""Reductions whose body compares and chooses alone, as that of an argmax.

Such a body makes the same choice for all numbers that stand in the same order to each other, so that three ranks and
NaN, for each input, stand for all numbers there are: the laws of `combining` are tried on all of them.

``f(e, x) = x`` is asked of every tuple x without NaN, also of one that equals e in some inputs alone: beside the
identity (-inf, 0) an argmax of (-inf, 7) gives 7 or 0.  One lane that e leaves as it is suffices, though, where all
lanes are combined: ``f(e, f(x, y)) = f(f(e, x), y)``.  `cuda.tile.argmax` has such a lane, the one with the number 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from operator import and_, or_, xor
from typing import Final, NamedTuple, TypeAlias

from ..bytecode.model import Block, Op, Value

LOWEST, BETWEEN, HIGHEST, NAN = range(4)
RANKS: Final = (LOWEST, BETWEEN, HIGHEST)
_MOST_CASES: Final = 1 << 16

Ranks: TypeAlias = tuple[int, ...]
"""Of each rank a mask: bit i says that the value has this rank in case i."""


class OtherBody(Exception):
    """The body does something else."""


class IdentityRank(NamedTuple):
    """The rank of the identity of one input, and those that a lane may have of which the identity law is asked."""

    own: int
    lanes: frozenset[int] = frozenset(RANKS)


def chooses_by_laws(
    body: Block, floats: Sequence[bool], ranks: Callable[[Mapping[int, str]], Sequence[IdentityRank]], *, commutes: bool
) -> bool:
    """Whether the laws hold of ``body``, without the second one if it is not asked (``commutes``).

    ``floats``: which inputs are floats.  ``ranks``: of each identity among the numbers that its input can hold, if
    integers are compared as signed or unsigned as it is told.  Raises `OtherBody`.
    """
    sizes = [len(RANKS) + each for each in floats]
    cases = prod(sizes) ** 3
    if cases > _MOST_CASES:
        return False
    full = (1 << cases) - 1
    a, b, c = (_lanes(sizes, number, cases) for number in range(3))
    signs: dict[int, str] = {}

    def combine(left: Sequence[Ranks], right: Sequence[Ranks]) -> list[Ranks]:
        return _choices(body, left, right, full, signs)

    def same(one: Sequence[Ranks], other: Sequence[Ranks]) -> int:
        return reduce(and_, map(_equal, one, other), full)

    ab = combine(a, b)
    laws = same(combine(ab, c), combine(a, combine(b, c)))
    if commutes:
        laws &= same(ab, combine(b, a))
    places = ranks(signs)
    e = [tuple(full if rank == place.own else 0 for rank in (*RANKS, NAN)) for place in places]
    neutral = same(combine(e, a), a) & same(combine(a, e), a)
    asked = full
    for place, lanes in zip(places, a, strict=True):
        asked &= reduce(or_, (lanes[rank] for rank in place.lanes))
    return all(place.own != NAN for place in places) and laws == full and asked & ~neutral == 0


def _lanes(sizes: Sequence[int], number: int, cases: int) -> list[Ranks]:
    """The ranks of the ``number``-th of three lanes of all inputs: all that there can be are among the cases."""
    found, step = [], prod(sizes) ** number
    for size in sizes:
        period, run = step * size, (1 << step) - 1
        often = ((1 << cases) - 1) // ((1 << period) - 1)  # a bit in the first case of each period
        found.append(tuple(often * (run << rank * step) if rank < size else 0 for rank in range(4)))
        step = period
    return found


def _choices(
    body: Block, left: Sequence[Ranks], right: Sequence[Ranks], full: int, signs: dict[int, str]
) -> list[Ranks]:
    """What the body makes of two lanes of each input.  ``signs``: as what the integers of each are compared.

    Raises `OtherBody`.
    """
    chosen: dict[Value, tuple[int, Ranks]] = {}  # of which input a value is, and its ranks
    true: dict[Value, int] = {}  # the cases in which a condition holds
    for number, value in enumerate(body.arguments):
        chosen[value] = number // 2, (right if number % 2 else left)[number // 2]
    try:
        for op in body.ops[:-1]:
            match op.declaration.algebra:
                case "comparison":
                    (number, one), (other_number, other) = chosen[op.value("lhs")], chosen[op.value("rhs")]
                    sign = op.attributes.get("sgn", "")
                    if number != other_number or signs.setdefault(number, sign) != sign:
                        raise OtherBody
                    true[op.result] = _compared(op, one, other, full)
                case "and" | "or" | "xor" as join:
                    true[op.result] = _BOOLEAN[join](true[op.value("lhs")], true[op.value("rhs")])
                case "choice":
                    condition = true[op.value("c")]
                    (number, one), (other_number, other) = chosen[op.value("t")], chosen[op.value("f")]
                    if number != other_number:
                        raise OtherBody
                    ranks = ((condition & yes) | (full & ~condition & no) for yes, no in zip(one, other, strict=True))
                    chosen[op.result] = number, tuple(ranks)
                case _:
                    raise OtherBody
        results = [chosen[value] for value in body.terminator.group("args")]
    except KeyError:  # a value from elsewhere, or a choice between conditions
        raise OtherBody from None
    if [number for number, _ in results] != list(range(len(left))):
        raise OtherBody
    return [ranks for _, ranks in results]


_BOOLEAN: Final[Mapping[str, Callable[[int, int], int]]] = {"and": and_, "or": or_, "xor": xor}


def _equal(one: Ranks, other: Ranks) -> int:
    """The cases in which both have one rank; NaN is NaN."""
    return reduce(or_, (x & y for x, y in zip(one, other, strict=True)))


def _compared(op: Op, one: Ranks, other: Ranks, full: int) -> int:
    """The cases in which the comparison holds."""
    unordered = one[NAN] | other[NAN]
    less, greater = (
        reduce(or_, (x[low] & y[high] for low in RANKS for high in RANKS if low < high))
        for x, y in ((one, other), (other, one))
    )
    equal = full & ~(less | greater | unordered)
    found = {
        "equal": equal,
        "not_equal": less | greater,
        "less_than": less,
        "less_than_or_equal": less | equal,
        "greater_than": greater,
        "greater_than_or_equal": greater | equal,
    }[op.attributes["pred"]]
    return found | unordered if op.attributes.get("fcmp") == "unordered" else found
