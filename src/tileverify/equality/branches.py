"""Which way comparisons come out: what was never seen is no part of an answer.

Comparisons of floats are all told.  Of integers there are many that say whether a lane lies in an array; told are those
that a branch may hang on (`integer_branches`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from ..frontend.bytecode.model import Op, Value
from ..frontend.symbolic.locations import in_toolkit
from .field import Array


class OtherComparison(Protocol):
    """A comparison that is no op of a kernel."""

    def told(self, yes: bool) -> str: ...


@dataclass(slots=True)
class WaysTaken:
    """Of each comparison whether it was ever true, and false; of a maximum or minimum, whether it took each operand; of
    a loop, whether it was ever entered."""

    seen: dict[Op | OtherComparison, tuple[bool, bool]] = field(default_factory=dict)
    entered: dict[Op, bool] = field(default_factory=dict)
    conditions: set[Value] = field(default_factory=set)
    """Results of comparisons, and what ops make of these."""

    def note(self, asked: Op | OtherComparison, lanes: Array) -> None:
        yes, no = self.seen.get(asked, (False, False))
        if not (yes and no):
            held = np.asarray(lanes)
            self.seen[asked] = yes or bool(held.any()), no or not bool(held.all())
        if isinstance(asked, Op) and asked.name not in _EXTREMES:
            self.conditions.add(asked.result)

    def note_joined(self, op: Op, of: Iterable[Value], lanes: Array) -> None:
        """A condition of others, where a comparison is among them."""
        if not self.conditions.isdisjoint(of):
            self.note(op, lanes)

    def note_loop(self, op: Op, rounds: int) -> None:
        self.entered[op] = rounds > 0 or self.entered.get(op, False)

    def one_way(self) -> Iterator[str]:
        """Those that came out in one way alone, in words, each once, and loops that were never entered.  That a loop
        always was is what loops are like."""
        yield from dict.fromkeys(
            _words(asked, yes) if isinstance(asked, Op) else asked.told(yes)
            for asked, (yes, no) in self.seen.items()
            if yes != no
        )
        never = (f"the loop{_place(op)} was never entered" for op, entered in self.entered.items() if not entered)
        yield from dict.fromkeys(never)


_EXTREMES: Final = {"maxf": "maximum", "minf": "minimum", "maxi": "maximum", "mini": "minimum"}
_JOINS: Final = {"andi": "and", "ori": "or"}
_PREDICATES: Final = {
    "equal": "==", "not_equal": "!=", "less_than": "<", "less_than_or_equal": "<=", "greater_than": ">",
    "greater_than_or_equal": ">=",
}  # fmt: skip


def _words(op: Op, yes: bool) -> str:
    place = _place(op)
    if op.name in _EXTREMES:
        return f"the {_EXTREMES[op.name]}{place} was its {'first' if yes else 'second'} operand at every point"
    what = f"condition {_JOINS[op.name]}" if op.name in _JOINS else f"comparison {_predicate(op)}"
    return f"the {what}{place} was {'true' if yes else 'false'} at every point"


def _place(op: Op) -> str:
    """In the user's code, not in a header of the toolkit that it calls."""
    if op.location is None:
        return ""
    own = (frame for frame in op.location.chain() if not in_toolkit(frame))
    return f" at line {next(own, op.location).line}"


def _predicate(op: Op) -> str:
    return str(_PREDICATES.get(op.attributes["pred"], op.attributes["pred"]))
