"""Cells of a notebook: IPython gives each a file name of its own, which nobody knows, for a file that is not there."""

from __future__ import annotations
import __future__

import linecache
import sys
from typing import Any, Final

_NUMBERS: dict[str, int] = {}
_FUTURES: Final[int] = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})


def running_shell() -> Any:
    """The IPython of this process, ``None`` where there is none; it is never loaded for that."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def names_of_cells() -> dict[str, Any]:
    """What the notebook's names stand for, as a copy."""
    return dict(getattr(running_shell(), "user_ns", {}))


def flags_of_cells() -> int:
    """Flags of `compile` that cells have set: what an earlier one imported from ``__future__``."""
    return int(getattr(getattr(running_shell(), "compile", None), "flags", 0)) & _FUTURES


def number_cell(file: str, number: int) -> None:
    """Call the cell of ``file`` ``Cell In[number]``, whatever IPython says."""
    _NUMBERS[file] = number


def cell_name(file: str) -> str | None:
    """``Cell In[3]``, if ``file`` is the name that the running IPython gave the text of a cell."""
    if file in _NUMBERS:
        return f"Cell In[{_NUMBERS[file]}]"
    compiler = getattr(running_shell(), "compile", None)
    describe = getattr(compiler, "format_code_name", None)
    described = None if describe is None else describe(file)
    if not described:
        return None
    return " ".join(map(str, described))


def cell_lines(file: str) -> tuple[str, ...] | None:
    """The text of a cell, whose source IPython keeps where Python looks for the lines of tracebacks."""
    if cell_name(file) is None:
        return None
    return tuple(line.rstrip("\r\n") for line in linecache.getlines(file)) or None


def cell_text(file: str) -> str | None:
    """The same as one text, whose lines end with a newline but the last."""
    lines = cell_lines(file)
    return None if lines is None else "\n".join(lines)


def shown_file(file: str) -> str:
    """What people call ``file``: the number of the cell, else the name itself."""
    return cell_name(file) or file


def shown_place(file: str, line: int | None, column: int | None = None) -> str:
    """``kernel.py:8:5`` as editors read it, ``Cell In[3], line 8`` as IPython tells it.

    ``line`` counts from 1 and ``column`` from 0; what is shown counts from 1.
    """
    cell = cell_name(file)
    if cell is not None:
        return cell if line is None else f"{cell}, line {line}"
    parts = [file, *([str(line)] if line is not None else [])]
    if line is not None and column is not None:
        parts.append(str(column + 1))
    return ":".join(parts)
