"""The lines of a text as compilers, editors and Git count them."""

from __future__ import annotations

import ast
import io


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
