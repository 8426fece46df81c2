"""How facts are written, and what of the values they speak of: by that, and not by their kind, facts meet."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

_WRITTEN: Final = {"amount": "n"}
"""What messages call a field of `DataFact`, where they do not use its own name."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a fact is written: what follows the array (``needed``: fields of `DataFact`), whether ``low, high`` may
    follow then, and whether there may be ``unless``; ``other``: what messages call the other array."""

    needed: tuple[str, ...] = ()
    bounds: bool = False
    unless: bool = False
    other: str = ""

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
        written = {**_WRITTEN, "other": self.other}
        return f"{kind}({', '.join(['a', *(written.get(name, name) for name in self.needed)])})"


class Subject(enum.Enum):
    """What of the values a fact speaks of, in the order in which a search offers such facts: the weakest first.

    Whoever asks for a subject relies on what is said here of all its facts, the values that they excuse aside.
    """

    LIMITS = enum.auto()
    """Each value v has low <= v < high."""
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
    RANKS = enum.auto()
    """Those beside equal keys of one chunk of n are different, none is negative, and each is less than these are."""
    BUCKETS = enum.auto()
    """They begin parts, each as long as a chunk of n has elements with one key below the width, that do not meet, and
    that lie in [low, high), where it has bounds."""


DISTINCT: Final = frozenset({Subject.ELEMENTS, Subject.ROWS})
"""The fact says which values are different."""
