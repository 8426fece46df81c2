"""How facts are written, where they may stand, and what of the values they speak of."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

FIELDS: Final = {"n": "amount"}
"""The field of `DataFact` for a number that has another name in formulas and messages."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a fact is written: the ``arrays``, then ``numbers`` by their names in formulas, then ``low, high`` if there
    may be ``bounds``, and ``unless``."""

    arrays: tuple[str, ...] = ("a",)
    numbers: tuple[str, ...] = ()
    bounds: bool = False
    unless: bool = False

    def names(self, count: int) -> tuple[str, ...] | None:
        """What ``count`` arguments are, in their order; ``None`` if they are too many or few."""
        names = (*self.arrays, *self.numbers)
        if self.bounds and count == len(names) + 2:
            names = (*names, "low", "high")
        return names if len(names) == count else None

    def counts(self) -> str:
        """How many arguments the fact takes."""
        least = len(self.arrays) + len(self.numbers)
        return f"{least} or {least + 2}" if self.bounds else str(least)

    def example(self, kind: str) -> str:
        """The fact with nothing that can be left out, as in ``shares(a, n)``."""
        return f"{kind}({', '.join((*self.arrays, *self.numbers))})"


@dataclass(frozen=True, slots=True)
class AllowedRanks:
    """The ranks of arrays that can keep a fact; ``otherwise`` ends the message about another ``{array}``."""

    least: int = 0
    most: int | None = None
    otherwise: str = ""

    def misplaced(self, array: str, rank: int) -> str | None:
        """Why an array of such a rank cannot keep the fact; ``None`` if it can.

        Of an array whose elements all lie along one axis the rank is 1 as well.
        """
        if self.least <= rank and (self.most is None or rank <= self.most):
            return None
        return f"'{array}' has rank {rank}{self.otherwise.format(array=array)}"


class Subject(enum.Enum):
    """What of the values a fact speaks of, in the order in which a search offers such facts: the weakest first.

    Whoever asks for a subject relies on what is said here of all its facts, the values that they excuse aside.
    """

    ELEMENT = enum.auto()
    """One element is one value."""
    COLUMN = enum.auto()
    """Each value v in one column has low <= v < high."""
    LIMITS = enum.auto()
    """Each value v has low <= v < high."""
    LINES = enum.auto()
    """No two rows are equal: rows are those along the last axis, compared as a whole."""
    ROWS = enum.auto()
    """Those in different rows are different, or those of them that lie in [low, high), where it has bounds."""
    ORDER = enum.auto()
    """They do not fall along the last axis."""
    STEPS = enum.auto()
    """Each is a multiple of the amount."""
    SUM = enum.auto()
    """None is negative, and all together are at most the amount."""
    ELEMENTS = enum.auto()
    """Those of different elements are different, or those of them that lie in [low, high), where it has bounds."""
    SEGMENTS = enum.auto()
    """They begin parts that do not meet, and that lie in [low, high), where it has bounds."""
    RELATION = enum.auto()
    """Something else, of several arrays: only the formula says what."""


DISTINCT: Final = frozenset({Subject.ELEMENTS, Subject.ROWS})
"""The fact says which values are different."""
