"""Text from files, bytecode and user code made harmless for a terminal."""

from __future__ import annotations

import ast
import contextlib
import io
import unicodedata
from pathlib import Path
from typing import Final

from .notebook_cells import cell_name

_REORDERING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Bidirectional controls: they make a line read differently from what it says (CVE-2021-42574)."""


def printable(text: str) -> str:
    """``text`` with control characters, bidirectional controls and lone surrogates as visible escapes.

    The result is one line that can be printed anywhere: it holds no escape sequence, newline or tab.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _REORDERING:
        number = ord(character)
        return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
    return character


# --------------------------------------------------------------------------------------------------------------- plural
# Numbers of things in words.


def plural(count: int, noun: str) -> str:
    """``1 launch``, ``2 launches``, ``0 kernels``."""
    ending = "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{count} {noun}{'' if count == 1 else ending}"


# ---------------------------------------------------------------------------------------------------------------- paths
# Paths as people read them.


def display_path(path: str | Path) -> str:
    """Relative to the working folder where it lies below it, with forward slashes; cells of notebooks as they are."""
    if cell_name(str(path)) is not None:
        return str(path)
    path = Path(path)
    with contextlib.suppress(ValueError, OSError):
        path = path.relative_to(Path.cwd()) if path.is_absolute() else path
    return path.as_posix()


# --------------------------------------------------------------------------------------------------------- source lines
# The lines of a text as compilers, editors and Git count them.


def source_lines(text: str) -> list[str]:
    """With their ends, which are ``\\n``, ``\\r\\n`` or ``\\r``; joined, they are the text.

    `str.splitlines` also begins a line behind a form feed, a line separator and others.  Whoever counts so finds
    another function at the number of a line than Python does: `inspect` would give the compiler that one's source.
    """
    return io.StringIO(text, newline="").readlines()


def bare_lines(text: str) -> list[str]:
    """The same without their ends."""
    return [line.rstrip("\r\n") for line in source_lines(text)]


def syntax_tree(text: str) -> ast.Module:
    """Of a whole file, whose byte order mark `ast.parse` would refuse; nothing but names of modules stands beside one.

    Raises SyntaxError, ValueError, RecursionError and MemoryError.
    """
    return ast.parse(text.removeprefix("\ufeff"))
