"""Edits of a source text."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ...reports.editing import LARGEST_DIFFERENCE, changed_lines, edited, well_placed
from ...results import Edit
from ...system.source_lines import source_lines

__all__ = ["LARGEST_DIFFERENCE", "Lines", "changed_lines", "edited", "well_placed"]


class Lines:
    """A source by lines; the syntax tree counts columns in bytes of UTF-8, people and edits in characters."""

    def __init__(self, text: str) -> None:
        self._lines = source_lines(text)
        self._encoded = [line.encode() for line in self._lines]  # once: a line may have megabytes, and many nodes

    def column(self, line: int, byte: int) -> int:
        return len(self._encoded[line - 1][:byte].decode(errors="replace"))

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """The text of ``node``; `ast.get_source_segment` splits the whole source each time."""
        assert node.end_lineno is not None
        lines = self._encoded[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1][: node.end_col_offset]  # first: it may be the only one
        lines[0] = lines[0][node.col_offset :]
        return b"".join(lines).decode()

    def line(self, number: int) -> str:
        return self._lines[number - 1].rstrip("\r\n")

    def replacing(self, node: ast.expr | ast.stmt | ast.keyword, text: str) -> Edit:
        """``text`` in place of ``node``."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.column(node.lineno, node.col_offset)
        return Edit(node.lineno, start, node.end_lineno, self.column(node.end_lineno, node.end_col_offset), text)

    def before(self, statement: ast.stmt, lines: Iterable[str]) -> Edit:
        """Whole lines above ``statement``, indented as it is."""
        indent = self._lines[statement.lineno - 1][: self.column(statement.lineno, statement.col_offset)]
        text = "".join(f"{indent}{line}\n" for line in lines)
        return Edit(statement.lineno, 0, statement.lineno, 0, text)

    def without(self, statement: ast.stmt) -> Edit:
        """The lines of ``statement`` left out."""
        assert statement.end_lineno is not None
        return Edit(statement.lineno, 0, statement.end_lineno + 1, 0, "")
