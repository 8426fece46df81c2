"""Where an op stands in the source, as debug information tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_CPP: Final = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp")


@dataclass(frozen=True, slots=True)
class Location:
    """A source position: ``line`` is 1-based, ``column`` as the producer wrote it.

    ``caller`` is the call site that this frame was inlined into, innermost frame first;
    ``function`` is the name of the enclosing subprogram, where the producer gave one.
    """

    file: str
    line: int
    column: int
    function: str | None = None
    caller: Location | None = None

    @property
    def offset(self) -> int:
        """``column`` counted from 0: cuda.tile counts so, nvcc from 1."""
        return max(self.column - 1, 0) if self.file.endswith(_CPP) else self.column

    def chain(self) -> Iterator[Location]:
        """This frame, then its callers, outermost last."""
        frame: Location | None = self
        while frame is not None:
            yield frame
            frame = frame.caller
