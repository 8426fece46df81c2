"""Paths as people read them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from .notebook_cells import cell_name


def display_path(path: str | Path) -> str:
    """Relative to the working folder where it lies below it, with forward slashes; cells of notebooks as they are."""
    if cell_name(str(path)) is not None:
        return str(path)
    path = Path(path)
    with contextlib.suppress(ValueError, OSError):
        path = path.relative_to(Path.cwd()) if path.is_absolute() else path
    return path.as_posix()
