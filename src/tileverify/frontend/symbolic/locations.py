"""Which frame of a call-site chain the user wants to see."""

from __future__ import annotations

import re
from typing import Final

from ..bytecode.location import Location

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
