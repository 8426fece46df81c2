"""The source files that a report speaks of: which of their lines are shown, and how."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Final

from markupsafe import Markup

from ...system.printable import printable
from ...system.source_lines import syntax_tree
from ..snippets import TAB, source_text
from .highlighting import source_lines

SHOWN_WHOLE: Final = 160
"""Lines of a file that is shown from its first to its last line."""
AROUND: Final = 12
"""Lines before and behind a place in a file whose functions are not known."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """``html``: every line, coloured; ``functions``: first and last line of its functions, 1-based."""

    name: str
    html: tuple[Markup, ...]
    functions: tuple[tuple[int, int], ...]

    def shown(self, lines: Iterable[int]) -> list[int]:
        """The numbers of the lines to show where ``lines`` matter: all of a short file, else whole functions."""
        count = len(self.html)
        if count <= SHOWN_WHOLE:
            return list(range(1, count + 1))
        wanted: set[int] = set()
        for line in set(lines):
            around = [span for span in self.functions if span[0] <= line <= span[1]]
            first, last = min(around, default=(line - AROUND, line + AROUND))
            wanted.update(range(max(first, 1), min(last, count) + 1))
        return sorted(wanted)


@dataclass
class Sources:
    """Reads each file once; one that is missing, or no source, gives ``None``."""

    _files: dict[str, SourceFile | None] = field(default_factory=dict)

    def file(self, name: str) -> SourceFile | None:
        if name not in self._files:
            text = source_text(name)
            self._files[name] = None if text is None else _file(name, text)
        return self._files[name]


def _file(name: str, lines: tuple[str, ...]) -> SourceFile:
    plain = [printable(line.replace("\t", TAB).rstrip()) for line in lines]
    while plain and not plain[-1]:
        plain.pop()
    functions = tuple(_functions("\n".join(lines))) if PurePath(name).suffix == ".py" else ()
    return SourceFile(name, tuple(source_lines("\n".join(plain), PurePath(name).name)), functions)


def _functions(text: str) -> Iterator[tuple[int, int]]:
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min((each.lineno for each in node.decorator_list), default=node.lineno)
            yield first, node.end_lineno or node.lineno
