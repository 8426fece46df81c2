"""What formulas about two elements say, so that nobody has to look at all pairs: where sorted, neighbours tell.

    E(i) == E(j) and ... -> F(i) == F(j)                     different: sorted by E, neighbours with one E have one F
    row(i) == row(j) and last(i) <= last(j) -> E(i) <= E(j)  rising: the next element of a row is no less
    ... -> E(i) <= S(j) or E(j) <= S(i)                      apart: [S, E), none of them empty, sorted by S

A conclusion F(i) != F(j) of different elements is a further key.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from ..launch import Apply, Expression, Name
from .formula import FactFormula, conjuncts, elements_in, names_in, parse, renamed


@dataclass(frozen=True, slots=True)
class Different:
    """Elements that keep ``where`` and agree in all ``keys`` agree in ``label``; ``None``: they are one element."""

    where: tuple[Expression, ...]
    keys: tuple[Expression, ...]
    label: Expression | None


@dataclass(frozen=True, slots=True)
class Rising:
    """``value`` does not fall along the last axis."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Apart:
    """The parts from ``start`` to below ``end`` of elements that keep ``where`` do not meet."""

    where: tuple[Expression, ...]
    start: Expression
    end: Expression


Shape: TypeAlias = Different | Rising | Apart


@cache
def shape_of(clause: FactFormula) -> Shape:
    """What a clause with two indices says; raises `ValueError` for a formula of another shape."""
    i, j = clause.indices
    swap = {i: j, j: i}
    where: dict[Expression, None] = {}
    keys: list[Expression] = []
    rising = False
    for part in conjuncts(clause.premise):
        used = names_in(part) & {i, j}
        if used == {j}:
            where[renamed(part, swap)] = None
        elif used == {i} or not used:
            where[part] = None
        elif part == parse(f"last({i}) <= last({j})"):
            rising = True
        elif part != parse(f"{i} != {j}"):
            keys.append(_mirrored(part, "==", swap))
    match clause.conclusion:
        case Apply("<=", _) if rising and keys == [parse(f"row({i})")] and not where:
            return Rising(_mirrored(clause.conclusion, "<=", swap))
        case Apply("or", (Apply("<=", (end, start)), other)) if not keys and not rising:
            start = renamed(start, swap)
            if other == Apply("<=", (renamed(end, swap), start)):
                return Apart(tuple(where), start, end)
        case Apply("!=", args) if not rising:
            return Different(tuple(where), (*keys, _mirrored(Apply("==", args), "==", swap)), None)
        case Apply("==", _) if not rising:
            label = _mirrored(clause.conclusion, "==", swap)
            return Different(tuple(where), tuple(keys), None if label == Name(i) else label)
    raise ValueError(f"no pairs that neighbours tell apart: {clause.text}")


@cache
def counts_on_elements(clause: FactFormula) -> bool:
    """Whether it counts on it that different indices are different elements, in sums and numbers of elements as well.

    Of what speaks of the same element of several arrays that is asked, too.
    """
    counted = any(isinstance(part, Apply) and part.op in ("count", "sum") for part in clause.parts)
    several = len(elements_in(clause.formula)) > 1
    return counted or several or (len(clause.indices) == 2 and not isinstance(shape_of(clause), Rising))


def _mirrored(part: Expression, order: str, swap: dict[str, str]) -> Expression:
    """The E of ``E(i) == E(j)``."""
    if isinstance(part, Apply) and part.op == order and part.args[1] == renamed(part.args[0], swap):
        return part.args[0]
    raise ValueError(f"sides that are not alike: {part}")
