"""What compiled code does other than its bytecode, in words."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ...frontend.bytecode.model import Op
from ...frontend.symbolic.locations import user_frame


class DifferenceKind(enum.Enum):
    """``ORDER``: two accesses that tokens order are not ordered, or the other way; ``TIMES``: an atomic or scoped
    access is made more or less often than once; the others as they say."""

    READS = "reads"
    WRITES = "writes"
    ORDER = "order"
    TIMES = "times"
    VALUES = "values"
    OUTSIDE = "outside"
    HANGS = "hangs"


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

    def __str__(self) -> str:
        where = (
            f" (PTX line{'s' if len(self.lines) > 1 else ''} {', '.join(map(str, self.lines))})" if self.lines else ""
        )
        return f"{self.text}{where}"
