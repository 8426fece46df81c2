"""Where an op stands in the source, as debug information tells."""

from __future__ import annotations

import re
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


# ------------------------------------------------------------------------------------------------------------ locations
# Which frame of a call-site chain the user wants to see.


_TOOLKIT: Final = re.compile(
    r"(^|/)(cuda_tile\.h|crt/|targets/[^/]+/include/|cuda(-[\d.]+)?/include/|nvidia/cu\d+/include/|cuda/tile/_[^/]+)"
)
"""Files that belong to the toolkit: nvcc's headers, and the private modules of the cuTile package."""


def in_toolkit(location: Location) -> bool:
    """Whether the frame stands in a file of the toolkit rather than of the user."""
    return _TOOLKIT.search(location.file) is not None


def user_frame(location: Location | None) -> Location | None:
    """The outermost frame outside the toolkit; the innermost frame if there is none."""
    if location is None:
        return None
    frames = [frame for frame in location.chain() if not in_toolkit(frame)]
    return frames[-1] if frames else location
