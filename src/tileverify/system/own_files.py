"""Where this package itself lies."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1]
"""The one place that counts folders: modules move, and what was counted from them would silently be another one."""


def own_sources() -> list[Path]:
    """The modules that a verdict may depend on: all but the corpus' kernels, which are judged like anybody's."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] != "corpus"]


# ------------------------------------------------------------------------------------------------------- module folders
# Where modules come from: folders of installed packages, and folders of a user's own.


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


# ------------------------------------------------------------------------------------------------------------ preloaded
# Modules that are loaded although nobody has asked for them, in a process that has loaded everything beforehand.
#
# A process that starts anew has none.  In one that has, a user's file would get such a module where, of the same name,
# there is one in a folder that Python looks into first.  Whoever puts a folder on the module path says so here.


_names: frozenset[str] = frozenset()
_refuse: Callable[[str], object] = str
_first: Callable[[], object] | None = None


def watch(names: Iterable[str], refuse: Callable[[str], object]) -> None:
    """From now on ``refuse`` is told the name of a module of ``names`` that a folder has another of."""
    global _names, _refuse
    _names, _refuse = frozenset(names), refuse


def call_first(action: Callable[[], object]) -> None:
    """Have ``action`` called when the next folder is put on the path."""
    global _first
    _first = action


def look(folder: Path) -> None:
    """``folder`` is about to be put on the module path."""
    global _first
    if _first is not None:
        action, _first = _first, None
        action()
    if _names:
        for name in importable_in(str(folder)) & _names:
            _refuse(name)


def importable_in(folder: str) -> set[str]:
    """The names of modules that a folder may hold."""
    try:
        return {name.partition(".")[0] for name in os.listdir(folder)}
    except OSError:
        return set()
