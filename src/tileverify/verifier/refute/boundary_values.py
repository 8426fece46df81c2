"""What a kernel's text says of loaded values: how far an access reaches from where they put it, and where it turns.

    coordinate = f(a[i]) + sum(c * lane) + ...,   0 <= lane < size,   f(x + d) - f(x) ~ slope * d
    span       = sum(|c| * (size - 1))

Values of ``a`` that are ``(1 + span) / |slope|`` apart lead to elements that the lanes of one access do not join.  A
quotient by d has slope 1/d; a wrap changes nothing where nothing wraps.  What else stands in a coordinate (blocks,
iterations, sizes) has no reach that the kernel's text gives: replays measure it in a launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

from ...contract import terms as t
from ...contract.terms import Term, TermKind
from ..obligations.fact_use import loaded_values
from ..obligations.footprint_overlap import PreparedSite
from ..obligations.layout import IndexFootprint

MOST_MARKS: Final = 6
"""Numbers around which contents are tried."""

_COMPARES: Final = frozenset({TermKind.LE, TermKind.LT, TermKind.EQ, TermKind.MIN, TermKind.MAX})


@dataclass(frozen=True, slots=True)
class TurningPoints:
    """``values``: so far apart, values of an array lead to elements of their own; ``places``: so many, each."""

    values: int = 1
    places: int = 1


def reaches(accesses: Iterable[PreparedSite]) -> Mapping[str, TurningPoints]:
    """The farthest reach of the accesses from the values of each array that their coordinates are sums with."""
    found: dict[str, TurningPoints] = {}
    for prepared in accesses:
        place = prepared.place
        lanes = {lane.variable: lane.size for lane in prepared.site.lanes}
        for term in place.coordinates if isinstance(place, IndexFootprint) else (place.offset,):
            parts = list(_summands(term))
            span = sum(abs(slope) * (lanes[part] - 1) for slope, part in parts if part in lanes)
            for slope, part in parts:
                for array in loaded_values([part]):
                    known = found.get(array, TurningPoints())
                    values = max(known.values, ceil((1 + span) / abs(slope)))
                    found[array] = TurningPoints(values, max(known.places, ceil(1 + span)))
    return found


def _summands(term: Term, slope: Fraction = Fraction(1)) -> Iterator[tuple[Fraction, Term]]:
    """What ``term`` is a sum of, each part with its slope; quotients by a number and wraps are seen through."""
    _, parts = t.linear_parts(term)
    for count, part in parts:
        if part.kind is TermKind.WRAP:
            yield from _summands(part.args[0], count * slope)
        elif part.kind in (TermKind.DIV, TermKind.TDIV) and part.args[1].kind is TermKind.CONST and part.args[1].value:
            yield from _summands(part.args[0], count * slope / part.args[1].value)
        else:
            yield count * slope, part


def marks(conditions: Iterable[Term]) -> tuple[int, ...]:
    """Numbers that loaded values are compared with, and at which the kernel may do something else."""
    found: dict[int, None] = {}
    for condition in conditions:
        for part in t.postorder(condition):
            if part.kind in _COMPARES and loaded_values([part]):
                found |= {arg.value: None for arg in part.args if arg.kind is TermKind.CONST}
                for arg in part.args:
                    if arg.kind is TermKind.SUM:
                        found[-t.linear_parts(arg)[0]] = None
    return tuple(found)[:MOST_MARKS]
