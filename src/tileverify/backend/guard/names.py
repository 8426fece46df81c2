"""Which numbers of a launch give the free names of its contract their values.

A name is read off where it stands alone (``f16[M, K]``, a scalar, a grid axis), or where it is the only unknown of a
linear expression (``f16[2 * K]``, ``f32[N + 1]``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...contract.expressions import free_names
from ...contract.launch import Apply, Expression, Name, Number


@dataclass(frozen=True, slots=True)
class Reading:
    """``name = (source + shift) // factor``, and ``source + shift`` has to be divisible by ``factor``."""

    name: str
    source: str
    shift: Expression
    factor: int


def readings(places: Mapping[str, Expression], known: set[str]) -> tuple[list[Reading], dict[str, Expression]]:
    """How the names in ``places`` (variable of a number -> what it is in the contract) get values, in order.

    ``known`` names have values already.  Also returned: the places that have to be compared, as they give no name.
    """
    found: list[Reading] = []
    known = set(known)
    left = dict(places)
    progress = True
    while progress:
        progress = False
        for alone in (True, False):
            for source, expression in list(left.items()):
                reading = _read(source, expression, known)
                if reading is not None and (isinstance(expression, Name) or not alone):
                    found.append(reading)
                    known.add(reading.name)
                    del left[source]
                    progress = True
                    break
            if progress:
                break
    return found, left


def _read(source: str, expression: Expression, known: set[str]) -> Reading | None:
    """``expression`` solved for its one unknown name, if it is linear in it with a whole factor."""
    unknown = free_names(expression) - known
    if len(unknown) != 1:
        return None
    (name,) = unknown
    factor, rest = _linear(expression, name) or (0, Number(0))
    return Reading(name, source, Apply("neg", (rest,)), factor) if factor > 0 else None


def _linear(expression: Expression, name: str) -> tuple[int, Expression] | None:
    """``expression = factor * name + rest``."""
    if expression == Name(name):
        return 1, Number(0)
    if name not in free_names(expression):
        return 0, expression
    assert isinstance(expression, Apply)
    if expression.op not in ("+", "-", "*") or len(expression.args) != 2:
        return None
    first, second = (_linear(each, name) for each in expression.args)
    if first is None or second is None:
        return None
    if expression.op == "*":
        one, other = expression.args
        if isinstance(one, Number):
            return one.value * second[0], Apply("*", (one, second[1]))
        if isinstance(other, Number):
            return other.value * first[0], Apply("*", (first[1], other))
        return None
    sign = 1 if expression.op == "+" else -1
    return first[0] + sign * second[0], Apply(expression.op, (first[1], second[1]))
