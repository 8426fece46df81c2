"""What kernels of TileGym compute, in torch: functions of a kernel's parameters by name, under ``FILE::KERNEL``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Reference = Callable[..., Any]
REFERENCES: dict[str, tuple[Reference, dict[str, Any] | None]] = {}


def reference(
    *names: str, grid: Sequence[str] | None = None, args: dict[str, Any] | None = None, without: Sequence[str] = ()
) -> Callable[[Reference], Reference]:
    """``names``: the end of the file's path and the kernel.  ``grid``, ``args``: of a smaller launch than recorded;
    ``without``: parts of the recorded launch that do not hold there."""
    smaller = None if grid is None else {"grid": list(grid), "args": args or {}, "without": tuple(without)}

    def register(function: Reference) -> Reference:
        for name in names:
            assert name not in REFERENCES, name
            REFERENCES[name] = function, smaller
        return function

    return register
