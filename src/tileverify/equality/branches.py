"""Which way comparisons come out: what was never seen is no part of an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..frontend.bytecode.model import Op
from .field import Array


class Asked(Protocol):
    """A comparison that is no op of a kernel."""

    def told(self, yes: bool) -> str: ...


@dataclass(slots=True)
class WaysTaken:
    """Of each comparison whether it was ever true, and false; of a maximum or minimum, whether it took each operand."""

    seen: dict[Op | Asked, tuple[bool, bool]] = field(default_factory=dict)

    def note(self, asked: Op | Asked, lanes: Array) -> None:
        yes, no = self.seen.get(asked, (False, False))
        if not (yes and no):
            held = np.asarray(lanes)
            self.seen[asked] = yes or bool(held.any()), no or not bool(held.all())

    def one_way(self) -> Iterator[str]:
        """Those that came out in one way alone, in words, each once."""
        yield from dict.fromkeys(
            _words(asked, yes) if isinstance(asked, Op) else asked.told(yes)
            for asked, (yes, no) in self.seen.items()
            if yes != no
        )


_PREDICATES = {
    "equal": "==", "not_equal": "!=", "less_than": "<", "less_than_or_equal": "<=", "greater_than": ">",
    "greater_than_or_equal": ">=",
}  # fmt: skip


def _words(op: Op, yes: bool) -> str:
    place = "" if op.location is None else f" at line {op.location.line}"
    if op.name == "cmpf":
        predicate = _PREDICATES.get(op.attributes["pred"], op.attributes["pred"])
        return f"the comparison {predicate}{place} was {'true' if yes else 'false'} at every point"
    kind = "maximum" if op.name == "maxf" else "minimum"
    return f"the {kind}{place} was its {'first' if yes else 'second'} operand at every point"
