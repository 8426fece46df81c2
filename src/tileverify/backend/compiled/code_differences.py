"""What compiled code does other than its bytecode, in words."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ...frontend.bytecode.model import Op
from ...frontend.symbolic.locations import user_frame
from ..split_loads import WAIT_BY_ATOMIC, is_split_load


class DifferenceKind(enum.Enum):
    """``ORDER``: two accesses that tokens order are not ordered, or the other way; ``TIMES``: an atomic or scoped
    access is made more or less often than once; ``SPLIT_LOAD``: nothing was seen to differ, but a load is one that
    tileiras is known to split (`split_loads`); the others as they say."""

    READS = "reads"
    WRITES = "writes"
    ORDER = "order"
    TIMES = "times"
    VALUES = "values"
    OUTSIDE = "outside"
    HANGS = "hangs"
    STOPS = "stops"
    SPLIT_LOAD = "split load"


@dataclass(frozen=True, slots=True)
class CodeDifference:
    """``ops``: of the bytecode, those that touch the bytes in question; ``lines``: of the PTX.  ``copies``: a bulk copy
    takes part."""

    kind: DifferenceKind
    text: str
    ops: tuple[Op, ...] = ()
    lines: tuple[int, ...] = ()
    copies: bool = False

    @property
    def place(self) -> tuple[str, int] | None:
        """File and line of the first op whose source is known."""
        frames = (user_frame(op.location) for op in self.ops)
        return next(((frame.file, frame.line) for frame in frames if frame is not None), None)

    @property
    def advice(self) -> str:
        """What to write instead, where that is known; else empty."""
        if any(map(is_split_load, self.ops)) and self.kind in (DifferenceKind.TIMES, DifferenceKind.SPLIT_LOAD):
            return WAIT_BY_ATOMIC
        if self.copies:
            return _ADVICE_ON_COPIES
        return _ADVICE.get(self.kind, "")

    def __str__(self) -> str:
        where = (
            f" (PTX line{'s' if len(self.lines) > 1 else ''} {', '.join(map(str, self.lines))})" if self.lines else ""
        )
        return f"{self.text}{where}"


_ADVICE = {
    DifferenceKind.ORDER: "add with `atomic_add`, take another tile, or store in a second launch",
    DifferenceKind.TIMES: "hand over with an atomic operation, as `atomic_xchg(flag, ...)`",
}
_ADVICE_ON_COPIES = "pass `allow_tma=False` to the loads and stores of this array"
