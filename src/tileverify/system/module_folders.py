"""Where modules come from: folders of installed packages, and folders of a user's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .own_files import PACKAGE

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of packages: what lies there is known by its version."""


def is_installed(file: str) -> bool:
    """Whether a module lies where Python or its packages are installed, or is a part of tileverify."""
    path = Path(file).resolve()
    return bool(INSTALLED & set(path.parts)) or any(path.is_relative_to(root) for root in _own_roots())


@cache
def _own_roots() -> tuple[Path, ...]:
    return Path(os.__file__).resolve().parent, PACKAGE.resolve()


def foreign_folders() -> Iterator[Path]:
    """Folders that modules are looked for in and that hold no installed ones, in the order of ``sys.path``."""
    for entry in sys.path:
        folder = Path(entry or ".").absolute()
        if not is_installed(str(folder)):
            yield folder
