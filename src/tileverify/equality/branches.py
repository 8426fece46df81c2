"""Which way comparisons come out: what was never seen is no part of an answer.

Comparisons of floats are all told, and what other functions ask of theirs (`decision_points`).  Of integers there are
many that say whether a lane lies in an array; told are those that a branch may hang on (`decision_points`).

A way was taken where a lane went it that *reaches* something: what is stored, a branch, an address or a mask; and of
floats, where a variable was compared.  Padding behind the end of an array, and contents that are numbers, tell nothing.
So lanes are marked, by bits of taint that the interpreter carries along (`MARKS`), and looked for in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

import numpy as np

from ..frontend.bytecode.location import in_toolkit
from ..frontend.bytecode.model import Op, Value
from .field import Array


class OtherComparison(Protocol):
    """A comparison that is no op of a kernel."""

    def told(self, yes: bool) -> str: ...


MARKS: Final = (16, 32, 64)
STEPPED: Final = 128
"""What a rounding, a cast to integers, or integers of arrays decide: a function that no law is known of."""
_AGAIN: Final = 24
"""How often, of all points together, a kernel runs once more with marks for other ways."""
_RUNS: Final = 3
"""Of a point."""

Way: TypeAlias = tuple[Op, bool]


@dataclass(slots=True)
class WaysTaken:
    """Of each comparison whether it was ever true, and false; of a maximum or minimum, whether it took each operand; of
    a loop, its rounds.  ``stepped``: arrays that hold what no law is known of."""

    seen: dict[Op | OtherComparison, tuple[bool, bool]] = field(default_factory=dict)
    loop_rounds: dict[Op, int] = field(default_factory=dict)
    """Of each loop, the most that it had."""
    conditions: set[Value] = field(default_factory=set)
    """Results of comparisons, and what ops make of these."""
    stepped: set[str] = field(default_factory=set)
    flushing: set[Op] = field(default_factory=set)
    """Ops that make subnormal numbers 0, which over the real numbers they do not."""
    rounds: bool = False
    """A reference rounded something to an integer."""
    _of_variables: set[Op] = field(default_factory=set)
    _of_numbers: dict[Op, tuple[bool, bool]] = field(default_factory=dict)
    """Of comparisons of numbers that are no variables, which count where no other ones are made."""
    _marked: dict[Way, int] = field(default_factory=dict)
    _looked_for: set[Way] = field(default_factory=set)
    _unmarked: bool = False
    _again: int = _AGAIN

    def note(self, asked: Op | OtherComparison, lanes: Array) -> None:
        """Every lane counts."""
        yes, no = self.seen.get(asked, (False, False))
        if not (yes and no):
            held = np.asarray(lanes)
            self.seen[asked] = yes or bool(held.any()), no or not bool(held.all())

    def marked(self, op: Op, lanes: Array, variable: Array | None = None) -> Array | None:
        """The marks of the lanes of a comparison's result, None for none; ``variable``: the lanes that compare one,
        None where any number counts."""
        if op.declaration.algebra in ("comparison", "and", "or"):
            self.conditions.add(op.result)
        held = np.asarray(lanes)
        count = np.ones((), np.bool_) if variable is None else variable
        if count.any():
            self._of_variables.add(op)
            self.seen.setdefault(op, (False, False))
        else:
            yes, no = self._of_numbers.get(op, (False, False))
            self._of_numbers[op] = yes or bool(held.any()), no or not bool(held.all())
            return None
        marks: Array | None = None
        for yes, taken in ((True, held & count), (False, ~held & count)):
            if self.seen[op][not yes] or not taken.any():
                continue
            mark = self._mark_of((op, yes))
            if mark:
                found = np.where(taken, np.uint8(mark), np.uint8(0))
                marks = found if marks is None else marks | found
        return marks

    def marked_joined(self, op: Op, of: Iterable[Value], lanes: Array) -> Array | None:
        """Of a condition of others, where a comparison is among them."""
        return None if self.conditions.isdisjoint(of) else self.marked(op, lanes)

    def reached(self, taint: int) -> None:
        """Lanes with this taint reach something."""
        for (op, yes), mark in self._marked.items():
            if taint & mark:
                was = self.seen[op]
                self.seen[op] = was[0] or yes, was[1] or not yes

    def begin(self) -> None:
        """A point: no way is looked for yet."""
        self._looked_for.clear()
        self._start()

    def goes_on(self) -> bool:
        """Whether ways were gone at this point that had no mark, so that it is worth another run."""
        self._looked_for |= self._marked.keys()
        again = self._unmarked and self._again > 0 and len(self._looked_for) < _RUNS * len(MARKS)
        if again:
            self._again -= 1
            self._start()
        return again

    def _start(self) -> None:
        self._marked.clear()
        self._unmarked = False

    def _mark_of(self, way: Way) -> int:
        if way not in self._marked and way not in self._looked_for:
            if len(self._marked) == len(MARKS):
                self._unmarked = True
                return 0
            self._marked[way] = MARKS[len(self._marked)]
        return self._marked.get(way, 0)

    def note_loop(self, op: Op, rounds: int) -> None:
        self.loop_rounds[op] = max(rounds, self.loop_rounds.get(op, 0))

    def _numbers_alone(self) -> dict[Op | OtherComparison, tuple[bool, bool]]:
        return {op: ways for op, ways in self._of_numbers.items() if op not in self._of_variables}

    def one_way(self) -> Iterator[str]:
        """Those that came out in one way alone, in words, each once, ops that flush, and loops that were never entered.
        That a loop always was is what loops are like; the first round of a ``loop`` asks whether there is another."""
        told = (
            _words(asked, yes) if isinstance(asked, Op) else asked.told(yes)
            for asked, (yes, no) in {**self._numbers_alone(), **self.seen}.items()
            if yes != no
        )
        yield from dict.fromkeys(filter(None, told))
        yield from dict.fromkeys(f"the {op.name}{_place(op)} makes subnormal numbers 0" for op in self.flushing)
        entered = {op for op, rounds in self.loop_rounds.items() if rounds > (op.name == "loop")}
        never = (f"the loop{_place(op)} {_NEVER[op.name]}" for op in self.loop_rounds if op not in entered)
        yield from dict.fromkeys(never)


_NEVER: Final = {"for": "was never entered", "loop": "ended in its first round at every point"}
_FIRST: Final = ("was its first lane at every point", "was never its first lane")
_NEVER_NEGATIVE: Final = ("", "never had a negative operand")
_VANISHED: Final = ("was 0 at every point, of a large negative number", "")
_ASKED: Final = {
    "absf": ("never had a negative operand", "had a negative operand at every point"),
    "absi": ("never had a negative operand", "had a negative operand at every point"),
    "reduce": _FIRST,
    **dict.fromkeys(("exp", "exp2"), _VANISHED),
    **dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "fpowf"), _NEVER_NEGATIVE),
}
"""What is said of an op for which the answer was always yes, and always no; nothing where that is as it should be."""
_PREDICATES: Final = {
    "equal": "==", "not_equal": "!=", "less_than": "<", "less_than_or_equal": "<=", "greater_than": ">",
    "greater_than_or_equal": ">=",
}  # fmt: skip


def _words(op: Op, yes: bool) -> str:
    place = _place(op)
    algebra = op.declaration.algebra
    if algebra in ("maximum", "minimum"):
        return f"the {algebra}{place} was its {'first' if yes else 'second'} operand at every point"
    if op.name in _ASKED:
        said = _ASKED[op.name][not yes]
        return said and f"the {op.name}{place} {said}"
    what = f"condition {algebra}" if algebra in ("and", "or") else f"comparison {_predicate(op)}"
    return f"the {what}{place} was {'true' if yes else 'false'} at every point"


def _place(op: Op) -> str:
    line = line_of(op)
    return "" if line is None else f" at line {line}"


def line_of(op: Op) -> int | None:
    """In the user's code, not in a header of the toolkit that it calls."""
    if op.location is None:
        return None
    own = (frame for frame in op.location.chain() if not in_toolkit(frame))
    return next(own, op.location).line


def _predicate(op: Op) -> str:
    return str(_PREDICATES.get(op.attributes["pred"], op.attributes["pred"]))
