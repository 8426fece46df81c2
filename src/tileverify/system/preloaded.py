"""Modules that are loaded although nobody has asked for them, in a process that has loaded everything beforehand.

A process that starts anew has none.  In one that has, a user's file would get such a module where, of the same name,
there is one in a folder that Python looks into first.  Whoever puts a folder on the module path says so here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

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
