"""Float scalars of a launch as torch takes them: floats of Python that are recognised where an operator gets them.

torch hands the float on, without the class.  It is found again by its value, which was drawn, so that no constant of a
program has it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import exact, formulas
from .exact_arrays import lifted
from .field import Array
from .undecided import Undecided


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

    def _with(self, other: float, rule: Callable[[Array, Array], Array], swapped: bool = False) -> ScalarNumber:
        if not isinstance(other, int | float):
            return NotImplemented
        mine, others = self.number, other.number if isinstance(other, ScalarNumber) else lifted(other)
        return ScalarNumber(np.asarray(rule(others, mine) if swapped else rule(mine, others)), self.known)

    def __add__(self, other: float) -> ScalarNumber:
        return self._with(other, exact.add)

    __radd__ = __add__

    def __mul__(self, other: float) -> ScalarNumber:
        return self._with(other, exact.multiply)

    __rmul__ = __mul__

    def __sub__(self, other: float) -> ScalarNumber:
        return self._with(other, exact.subtract)

    def __rsub__(self, other: float) -> ScalarNumber:
        return self._with(other, exact.subtract, True)

    def __truediv__(self, other: float) -> ScalarNumber:
        return self._with(other, exact.divide)

    def __rtruediv__(self, other: float) -> ScalarNumber:
        return self._with(other, exact.divide, True)

    def __pow__(self, other: float, modulus: None = None) -> ScalarNumber:
        return self._with(other, formulas.power)

    def __neg__(self) -> ScalarNumber:
        return ScalarNumber(exact.negative(self.number), self.known)
