"""Cells of a notebook: IPython gives each a file name of its own, which nobody knows, for a file that is not there."""

from __future__ import annotations

import linecache
import sys
from typing import Any

_NUMBERS: dict[str, int] = {}


def running_shell() -> Any:
    """The IPython of this process, ``None`` where there is none; it is never loaded for that."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def number_cell(file: str, number: int) -> None:
    """Call the cell of ``file`` ``In [number]``, whatever IPython says."""
    _NUMBERS[file] = number


def cell_name(file: str) -> str | None:
    """``In [3]``, if ``file`` is the name that the running IPython gave the text of a cell."""
    if file in _NUMBERS:
        return f"In [{_NUMBERS[file]}]"
    compiler = getattr(running_shell(), "compile", None)
    describe = getattr(compiler, "format_code_name", None)
    described = None if describe is None else describe(file)
    if not described:
        return None
    _, label = described
    return str(label).replace("[", " [", 1)


def cell_lines(file: str) -> tuple[str, ...] | None:
    """The text of a cell, whose source IPython keeps where Python looks for the lines of tracebacks."""
    if cell_name(file) is None:
        return None
    return tuple(line.rstrip("\r\n") for line in linecache.getlines(file)) or None


def shown_file(file: str) -> str:
    """What people call ``file``: the number of the cell, else the name itself."""
    return cell_name(file) or file
