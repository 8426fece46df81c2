"""Values of terms over ranges of their variables: one array axis for each variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...contract.terms import Scope, Sort, Term, TermKind, postorder
from ...contract.terms.rewriting import rebuild
from ..audit.lane_values import OPEN, Known, combine, lane

Array: TypeAlias = NDArray[np.int64]
Range: TypeAlias = tuple[int, int]
"""First and last value."""

MOST_CELLS: Final = 1 << 20
"""RangedValues of one term that are computed at once."""


class NotCounted(Exception):
    """What a site moves cannot be counted; the text is the reason, a part of a sentence."""


class RangedValues:
    """Terms in one launch, ``numbers`` by the names of its variables; no more than ``cells`` values at once."""

    def __init__(self, numbers: Mapping[str, int], cells: int = MOST_CELLS) -> None:
        self.cells = cells
        self._numbers = numbers
        self._launch: dict[Term, Known] = {}

    def over(self, term: Term, axes: Sequence[tuple[Term, int]]) -> Known:
        """The value for each of the first so many values of each variable; all others are not known."""
        rank = len(axes)
        if np.prod([float(size) for _, size in axes]) > self.cells:
            raise NotCounted("the launch has too many blocks and iterations to be counted one by one")
        return self._value(term, {each: lane(place, size, rank) for place, (each, size) in enumerate(axes)})

    def at(self, term: Term, places: Mapping[Term, Known]) -> Known:
        """The value where variables have these values."""
        return self._value(term, places)

    def _value(self, term: Term, places: Mapping[Term, Known]) -> Known:
        here: dict[Term, Known] = {}
        for part in postorder(term, self._launch):
            if part in here:
                continue
            args = [here[arg] if arg in here else self._launch[arg] for arg in part.args]
            of_launch = part not in places and not any(arg in here for arg in part.args) and _is_of_launch(part)
            memo = self._launch if of_launch else here
            memo[part] = self._step(part, args, places)
        return here[term] if term in here else self._launch[term]

    def _step(self, part: Term, args: list[Known], places: Mapping[Term, Known]) -> Known:
        match part.kind:
            case TermKind.CONST:
                return Known(part.value)
            case TermKind.TRUE | TermKind.FALSE:
                return Known(part.kind is TermKind.TRUE)
            case TermKind.VAR:
                return places[part] if part in places else self._variable(part)
            case TermKind.APPLY:
                return OPEN
            case _:
                return combine(part, args)

    def _variable(self, part: Term) -> Known:
        number = self._numbers.get(part.symbol.name)
        if number is None:
            return OPEN
        return Known(bool(number) if part.symbol.sort is Sort.BOOL else number)


def _is_of_launch(part: Term) -> bool:
    if part.kind is TermKind.VAR:
        return part.symbol.scope is Scope.LAUNCH
    return part.kind is not TermKind.APPLY


def truth(known: Known, *, most: bool) -> NDArray[np.bool]:
    """Where a condition holds; where nobody knows, ``most`` says so."""
    data: NDArray[np.bool] = np.asarray(known.data, bool)
    if known.open is None:
        return data
    unknown: NDArray[np.bool] = np.asarray(known.open, bool)
    return np.logical_or(data, unknown) if most else np.logical_and(data, ~unknown)


def straight(
    term: Term, variable: Term, values: RangedValues, axes: Sequence[tuple[Term, int]], last: int
) -> Term | None:
    """``term`` as a sum in which ``variable`` stands at most as a factor; ``None`` if it is no such sum.

    A wrap that changes nothing for 0 to ``last`` goes away: what is straight in between has its ends there.
    """
    if variable not in term.free or term is variable:
        return term
    if term.kind is TermKind.SUM or (
        term.kind is TermKind.PRODUCT and sum(variable in factor.free for factor in term.args) == 1
    ):
        parts = [straight(part, variable, values, axes, last) for part in term.args]
        return None if None in parts else rebuild(term, tuple(part for part in parts if part is not None))
    if term.kind is TermKind.WRAP:
        inner = straight(term.args[0], variable, values, axes, last)
        half = 1 << (term.payload - 1)
        if inner is not None and all(
            low >= -half and high < half for low, high in _ends(inner, variable, values, axes, last)
        ):
            return inner
    return None


def _ends(term: Term, variable: Term, values: RangedValues, axes: Sequence[tuple[Term, int]], last: int) -> list[Range]:
    rank = len(axes)
    places = {each: lane(place, size, rank) for place, (each, size) in enumerate(axes)}
    found = []
    for end in (0, last):
        known = values.at(term, places | {variable: Known(end)})
        if known.open is not None:
            return [(-(1 << 80), 1 << 80)]
        found.append((int(np.min(known.data)), int(np.max(known.data))))
    return found
