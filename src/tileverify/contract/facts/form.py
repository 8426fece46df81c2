"""How facts are written, and what of the values they speak of: by that, and not by their kind, facts meet."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

_WRITTEN: Final = {"amount": "n", "other": "lengths"}
"""What messages call a field of `DataFact`, where they do not use its own name."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a fact is written: what follows the array (``needed``: fields of `DataFact`), whether ``low, high`` may
    follow then, and whether there may be ``unless``."""

    needed: tuple[str, ...] = ()
    bounds: bool = False
    unless: bool = False

    def fields(self, count: int) -> tuple[str, ...] | None:
        """The fields that ``count`` arguments behind the array stand for; ``None`` if they are too many or few."""
        names = self.needed
        if self.bounds and count == len(names) + 2:
            names = (*names, "low", "high")
        return names if len(names) == count else None

    def counts(self) -> str:
        """How many arguments the fact takes, the array included."""
        least = 1 + len(self.needed)
        return f"{least} or {least + 2}" if self.bounds else str(least)

    def example(self, kind: str) -> str:
        """The fact with nothing that can be left out, as in ``shares(a, n)``."""
        return f"{kind}({', '.join(['a', *(_WRITTEN.get(name, name) for name in self.needed)])})"


class Subject(enum.Enum):
    """What of the values a fact speaks of, in the order in which a search offers such facts: the weakest first.

    Facts of `LIMITS` have ``low`` and ``high``, those of `STEPS` and of `SUM` an ``amount``.
    """

    LIMITS = enum.auto()
    """Each lies between two numbers."""
    ROWS = enum.auto()
    """Those in different rows are different."""
    ORDER = enum.auto()
    """They do not fall."""
    STEPS = enum.auto()
    """Each is a multiple of a number."""
    SUM = enum.auto()
    """None is negative, and their sum is limited."""
    ELEMENTS = enum.auto()
    """Those of different elements are different."""
    SEGMENTS = enum.auto()
    """They begin parts that do not meet."""


DISTINCT: Final = frozenset({Subject.ELEMENTS, Subject.ROWS})
"""The fact says which values are different."""
