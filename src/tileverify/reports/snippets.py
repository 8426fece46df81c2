"""Source lines: the span of an access's expression in one, and a text with edits made."""

from __future__ import annotations

import ast
import difflib
import hashlib
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.cells import cell_len

from ..contract.spec_files import SPEC_SUFFIX
from ..results import Edit, SourceSite
from ..system.printable import bare_lines, printable, source_lines, syntax_tree
from ..system.readings import cell_lines, cell_name, text_of

LINES_BEFORE: Final = 2
LINES_OF_SPAN: Final = 4
TAB: Final = "    "

_LARGEST_SOURCE: Final = 8 << 20
_SOURCE_SUFFIXES: Final = frozenset(
    (".py", ".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".jl", ".rs", ".mlir", ".tileir")
)
"""File names in bytecode are not to be trusted: nothing else is opened and shown in a report."""

_CALLS: Final = {"load": ("load", "gather"), "store": ("store", "scatter"), "atomic": ("atomic",)}
"""Access -> what the names of the functions that make it contain."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """``lines``: number and text, ready to print.  ``marked``: number of the line with the caret span, which
    begins at cell ``start`` of its text and is ``width`` cells wide (at least 1)."""

    lines: tuple[tuple[int, str], ...]
    marked: int
    start: int
    width: int


@dataclass(frozen=True, slots=True)
class SnippetRegion:
    """What a site points at: lines from 1, columns from 1 in UTF-16 code units, the end exclusive.

    ``end_column`` is ``None`` where the region goes to the end of its last line.
    """

    line: int
    column: int
    end_line: int
    end_column: int | None


@dataclass(frozen=True, slots=True)
class _Source:
    lines: tuple[str, ...]
    expressions: dict[tuple[int, int], list[ast.expr]]  # (line, column in UTF-8 bytes) -> expressions starting there


class Snippets:
    """Reads each source file once.  A file that is missing or no text gives no snippets."""

    def __init__(self) -> None:
        self._sources: dict[str, _Source | None] = {}

    def at(self, site: SourceSite) -> Snippet | None:
        """The lines around ``site`` with its expression marked, ``None`` without a readable source."""
        source = self._source(site)
        if source is None or site.line is None:
            return None
        line = source.lines[site.line - 1]
        start, last_line, end = _span(source, site)
        shown = range(max(1, site.line - LINES_BEFORE), min(last_line, site.line + LINES_OF_SPAN - 1) + 1)
        before = _cells(line[:start])
        return Snippet(
            lines=tuple((number, _shown(source.lines[number - 1])) for number in shown),
            marked=site.line,
            start=before,
            width=max(1, _cells(line[:end]) - before),
        )

    def region(self, site: SourceSite) -> SnippetRegion | None:
        """Where the expression of ``site`` stands, as editors count; ``None`` without a readable source."""
        source = self._source(site)
        if source is None or site.line is None:
            return None
        line = source.lines[site.line - 1]
        start, last, end = _span(source, site)
        column, end_column = utf16_units(line[:start]) + 1, utf16_units(line[:end]) + 1
        if last != site.line:
            return SnippetRegion(site.line, column, last, None)
        return SnippetRegion(site.line, column, last, max(end_column, column + 1) if line[start:] else None)

    def expression(self, site: SourceSite) -> str | None:
        """The source of the access at ``site``, spelled the same however it is laid out."""
        source = self._source(site)
        if source is None or site.line is None or site.column is None:
            return None
        node = _expression(source.expressions.get((site.line, site.column), []), site.access)
        if node is not None:
            return ast.unparse(node)
        start, _, end = _span(source, site)
        return " ".join(source.lines[site.line - 1][start:end].split()) or None

    def _source(self, site: SourceSite) -> _Source | None:
        """The file of ``site`` if it can be read and has that line."""
        if site.file is None or site.line is None:
            return None
        if site.file not in self._sources:
            self._sources[site.file] = _read(site.file)
        source = self._sources[site.file]
        return source if source is not None and 1 <= site.line <= len(source.lines) else None


def utf16_units(text: str) -> int:
    """The length in units of UTF-16."""
    return len(text.encode("utf-16-le", errors="surrogatepass")) // 2


def _shown(text: str) -> str:
    return printable(text.replace("\t", TAB).rstrip())


def _cells(text: str) -> int:
    return cell_len(printable(text.replace("\t", TAB)))


def source_text(file: str) -> tuple[str, ...] | None:
    """The lines of a source file or of a notebook's cell; ``None`` if there is none, or it is not called as one."""
    if (cell := cell_lines(file)) is not None:
        return cell
    path = Path(file)
    if path.suffix.lower() not in _SOURCE_SUFFIXES and not path.name.endswith(SPEC_SUFFIX):
        return None
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_SOURCE:
            return None
        text = text_of(path, errors="replace")
    except (OSError, ValueError):
        return None
    return tuple(re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")))


def _read(file: str) -> _Source | None:
    lines = source_text(file)
    if lines is None:
        return None
    return _Source(lines, _expressions("\n".join(lines)) if _is_python(file) else {})


def _is_python(file: str) -> bool:
    return Path(file).suffix.lower() == ".py" or cell_name(file) is not None


def _expressions(text: str) -> dict[tuple[int, int], list[ast.expr]]:
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[tuple[int, int], list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            found.setdefault((node.lineno, node.col_offset), []).append(node)
    return found


def _span(source: _Source, site: SourceSite) -> tuple[int, int, int]:
    """(first character, last line, end on the first line) of what ``site`` points at."""
    assert site.line is not None
    line = source.lines[site.line - 1]
    whole = len(line) - len(line.lstrip()), site.line, len(line.rstrip())
    if site.column is None or site.column < 0 or site.column >= len(line.encode(errors="surrogatepass")):
        return whole
    start = _characters(line, site.column)
    node = _expression(source.expressions.get((site.line, site.column), []), site.access)
    if node is None and source.expressions:
        # Of a launch spec in Python a word of a text is meant; of a kernel, what is no expression goes on to the end.
        word = None if site.access else re.match(r"\w+", line[start:])
        return start, site.line, whole[2] if word is None else start + word.end()
    if node is None:
        return start, site.line, start + _length_of_call(line[start:])
    last = node.end_lineno or node.lineno
    if last == site.line and node.end_col_offset is not None:
        return start, last, _characters(line, node.end_col_offset)
    return start, min(last, len(source.lines)), len(line.rstrip())


def _characters(line: str, column: int) -> int:
    """``column`` counts bytes of UTF-8, as Python's ``ast`` does."""
    return len(line.encode(errors="surrogatepass")[:column].decode(errors="ignore"))


def _expression(candidates: list[ast.expr], access: str) -> ast.expr | None:
    """Of the expressions that begin at one place (``ct``, ``ct.load``, ``ct.load(x)``, ``ct.load(x) + 1``)
    the call that makes the access, else the innermost call, else the widest."""
    calls = [node for node in candidates if isinstance(node, ast.Call)]
    named = [call for call in calls if any(word in _called(call) for word in _CALLS.get(access, (access,)))]
    for narrow in (named, calls):
        if narrow:
            return min(narrow, key=_end)
    return max(candidates, key=_end, default=None)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def _length_of_call(text: str) -> int:
    """Characters of the (qualified, templated) name at the start of ``text`` with its parenthesised arguments."""
    name = re.match(r"[\w.:]*(<[^<>()]*>)?", text)
    end = name.end() if name else 0
    if text[end : end + 1] != "(":
        return max(end, 1)
    depth = 0
    for position in range(end, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
    return len(text.rstrip())


# -------------------------------------------------------------------------------------------------------------- editing
# A source text with edits made, and the lines that they change.


def edited(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with all ``edits``, which do not overlap."""
    lines = source_lines(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[min(line - 1, len(lines))] + column

    for edit in sorted(edits, key=lambda each: (each.line, each.column), reverse=True):
        text = text[: place(edit.line, edit.column)] + edit.text + text[place(edit.end_line, edit.end_column) :]
    return text


def text_digest(text: str) -> str:
    """The SHA-256 of a source text, by which its edits know it again."""
    return hashlib.sha256(text.encode()).hexdigest()


def well_placed(text: str, edits: Sequence[Edit]) -> bool:
    """Whether all ``edits`` lie in the text, each ends behind its beginning, and no two overlap; all lines behind the
    last one are its end."""
    lengths = list(map(len, bare_lines(text)))

    def there(line: int, column: int) -> bool:
        return line >= 1 and 0 <= column <= (lengths[line - 1] if line <= len(lengths) else 0)

    end = (0, 0)
    for edit in sorted(edits, key=lambda each: (each.line, each.column, each.end_line, each.end_column)):
        start, behind = (edit.line, edit.column), (edit.end_line, edit.end_column)
        if not (there(*start) and there(*behind) and end <= start <= behind):
            return False
        end = behind
    return True


LARGEST_DIFFERENCE: Final = 64
"""Lines of a place, before or after, in which equal lines are looked for: to compare n with m lines takes n * m."""


def changed_lines(text: str, edits: Sequence[Edit]) -> Iterator[str]:
    """``-12: before`` and ``+12: after`` for each line that `well_placed` edits change.

    Only the lines that the edits stand in are compared, so that this takes no longer than the text is.
    """
    if not well_placed(text, edits):
        return
    lines = source_lines(text)
    moved = 0  # by how many lines the text behind is moved
    # What is put behind a last line that has no end becomes a part of it.
    behind = len(lines) + (not lines or lines[-1].endswith("\n"))
    for place in _places(edits, behind):
        first, last = min(place[0].line, behind), min(max(edit.end_line for edit in place), len(lines))
        old = lines[first - 1 : last]
        inside = [replace(edit, line=edit.line - first + 1, end_line=edit.end_line - first + 1) for edit in place]
        new = bare_lines(edited("".join(old), inside))
        yield from _differences(bare_lines("".join(old)), new, first, first + moved)
        moved += len(new) - len(old)


def _places(edits: Sequence[Edit], behind: int) -> Iterator[list[Edit]]:
    """Edits that share a line, together; in order.  All lines from ``behind`` on are one."""
    together: list[Edit] = []
    for edit in sorted(edits, key=lambda each: (each.line, each.column)):
        if together and min(edit.line, behind) > max(each.end_line for each in together):
            yield together
            together = []
        together.append(edit)
    if together:
        yield together


def _differences(old: list[str], new: list[str], old_first: int, new_first: int) -> Iterator[str]:
    if max(len(old), len(new)) > LARGEST_DIFFERENCE:
        opcodes = [("replace", 0, len(old), 0, len(new))]
    else:
        opcodes = list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes())
    for kind, start, end, new_start, new_end in opcodes:
        if kind != "equal":
            yield from (f"-{old_first + number}: {old[number]}" for number in range(start, end))
            yield from (f"+{new_first + number}: {new[number]}" for number in range(new_start, new_end))
