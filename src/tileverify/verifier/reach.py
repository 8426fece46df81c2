"""What a kernel's text says of loaded values: how far an access reaches from where they put it, and where it turns.

    coordinate = c * a[i] + sum(f * lane) + ...,  0 <= lane < size      reach(a) = 1 + sum(|f| * (size - 1)) // |c|

Values of ``a`` that are ``reach(a)`` apart lead to elements that the lanes of one access do not join.  What else stands
in a coordinate (blocks, iterations, sizes) has no reach that the kernel's text gives: replays measure it in a launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ..frontend.symbolic import terms as t
from ..frontend.symbolic.terms import Kind, Term
from .data import loaded_values
from .layout import IndexFootprint
from .meeting import Prepared

MOST_MARKS: Final = 6
"""Numbers around which contents are tried."""

_COMPARES: Final = frozenset({Kind.LE, Kind.LT, Kind.EQ, Kind.MIN, Kind.MAX})


def reaches(accesses: Iterable[Prepared]) -> Mapping[str, int]:
    """The farthest reach of the accesses from the values of each array that their coordinates are sums with."""
    found: dict[str, int] = {}
    for prepared in accesses:
        place = prepared.place
        lanes = {lane.variable: lane.size for lane in prepared.site.lanes}
        for term in place.coordinates if isinstance(place, IndexFootprint) else (place.offset,):
            _, parts = t.linear_parts(term)
            span = sum(abs(count) * (lanes[summand] - 1) for count, summand in parts if summand in lanes)
            for count, summand in parts:
                for array in loaded_values([summand]):
                    found[array] = max(found.get(array, 1), 1 + span // abs(count))
    return found


def marks(conditions: Iterable[Term]) -> tuple[int, ...]:
    """Numbers that loaded values are compared with, and at which the kernel may do something else."""
    found: dict[int, None] = {}
    for condition in conditions:
        for part in t.postorder(condition):
            if part.kind in _COMPARES and loaded_values([part]):
                found |= {arg.value: None for arg in part.args if arg.kind is Kind.CONST}
                for arg in part.args:
                    if arg.kind is Kind.SUM:
                        found[-t.linear_parts(arg)[0]] = None
    return tuple(found)[:MOST_MARKS]
