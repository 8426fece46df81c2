"""Float scalars of a launch as torch takes them: floats of Python that are recognised where an operator gets them.

torch hands the float on, without the class.  It is found again by its value, which was drawn, so that no constant of a
program has it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import exact, formulas
from .field import Array
from .primitives import lifted
from .undecided import Undecided


def _combined(
    one: ScalarNumber, other: float, rule: Callable[[Array, Array], Array], swapped: bool = False
) -> ScalarNumber:
    if not isinstance(other, int | float):
        return NotImplemented
    mine, others = one.number, other.number if isinstance(other, ScalarNumber) else lifted(other)
    return ScalarNumber(np.asarray(rule(others, mine) if swapped else rule(mine, others)), one.known)


def _operator(
    rule: Callable[[Array, Array], Array], swapped: bool = False
) -> Callable[[ScalarNumber, float], ScalarNumber]:
    return lambda self, other: _combined(self, other, rule, swapped)


class ScalarNumber(float):
    """The shadow of a number; arithmetic with other scalars gives one again."""

    number: Array
    known: dict[float, Array]

    def __new__(cls, number: Array, known: dict[float, Array]) -> ScalarNumber:
        made = super().__new__(cls, float(exact.certain(number)))
        made.number, made.known = number, known
        before = known.setdefault(float(made), number)
        if not bool(exact.same(before, number)):
            raise Undecided("two different scalars are equal in float64")
        return made

    __add__ = __radd__ = _operator(exact.add)
    __mul__ = __rmul__ = _operator(exact.multiply)
    __sub__, __rsub__ = _operator(exact.subtract), _operator(exact.subtract, swapped=True)
    __truediv__, __rtruediv__ = _operator(exact.divide), _operator(exact.divide, swapped=True)

    def __pow__(self, other: float, modulus: None = None) -> ScalarNumber:
        return _combined(self, other, formulas.power)

    def __neg__(self) -> ScalarNumber:
        return ScalarNumber(exact.negative(self.number), self.known)
