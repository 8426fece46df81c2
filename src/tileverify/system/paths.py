"""Paths as people read them."""

from __future__ import annotations

import contextlib
from pathlib import Path


def display_path(path: str | Path) -> str:
    """Relative to the working folder where it lies below it, with forward slashes."""
    path = Path(path)
    with contextlib.suppress(ValueError, OSError):
        path = path.relative_to(Path.cwd()) if path.is_absolute() else path
    return path.as_posix()
